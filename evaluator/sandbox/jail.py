"""What a candidate's process does to itself before it reads one byte of the candidate.

    settle(...)      its two channels and nothing else, resource limits, death with its parent
    confine()        what it may still ask of the kernel

Every step that fails raises OSError, and the process ends before the source is read: fail closed.
"""

import ctypes
import fcntl
import os
import resource
import signal
from typing import Final

REQUEST: Final = 3
"""The descriptor that a candidate reads requests from."""
REPLY: Final = 4
"""The descriptor that a candidate writes replies to."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38
_libc = ctypes.CDLL(None, use_errno=True)


def settle(*, request: int, reply: int, null: int, parent: int, memory_mb: int, cpu_total_s: float) -> None:
    """Keep only the two channels, with /dev/null for the standard three; set the limits; die with `parent`."""
    # The descriptors that were handed over may stand where others must go: first move them out of the way.
    request, reply, null = (fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (request, reply, null))
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.dup2(request, REQUEST, inheritable=False)
    os.dup2(reply, REPLY, inheritable=False)
    os.closerange(REPLY + 1, max(request, reply, null) + 1)
    os.closerange(REPLY + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    # A backstop behind the harness's own CPU limit: SIGXCPU, and a second later SIGKILL.
    seconds = int(cpu_total_s) + 2
    for limit, soft, hard in (
        (resource.RLIMIT_AS, memory_mb << 20, memory_mb << 20),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
        (resource.RLIMIT_MEMLOCK, 0, 0),
    ):
        resource.setrlimit(limit, (soft, hard))
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise OSError("the parent process has ended")
    _prctl(_PR_SET_DUMPABLE, 0)


def confine() -> None:
    """Give up what an honest program never needs. The layers of the kernel's sandboxing go here."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
