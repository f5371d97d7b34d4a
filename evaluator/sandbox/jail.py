"""Confines a candidate's process, from inside, before it reads one byte of the candidate.

The layers in their order; each is tested before the next one:

    limits      memory, CPU, files, processes
    privileges  another user when root, no capabilities, no new privileges
    landlock    no file, no TCP, no signals to the outside (where the kernel has it)
    seccomp     the few system calls that a computing interpreter needs

A step that fails, or denies nothing, raises OSError, and the process ends before the source is read.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import signal
from collections.abc import Collection
from typing import Final

from evaluator.sandbox import landlock, seccomp
from evaluator.sandbox.layers import LANDLOCK, LIMITS, PRIVILEGES, SECCOMP

REQUEST: Final = 3
"""The descriptor that a candidate reads requests from."""
REPLY: Final = 4
"""The descriptor that a candidate writes replies to."""
NOBODY: Final = 65534
"""The user and the group that a candidate becomes when the harness is root."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_CAPABILITY_VERSION: Final = 0x20080522
CANARY: Final = "/"
"""What a process must not be able to open once it is confined."""
_libc = ctypes.CDLL(None, use_errno=True)


def prepare(layers: Collection[str]) -> seccomp.Filter | None:
    """The system call filter, where it is among the layers, made once for all candidates. Also makes this worker
    unreadable for its candidates. Raises OSError."""
    _prctl(_PR_SET_DUMPABLE, 0)
    return seccomp.Filter() if SECCOMP in layers else None


def settle(*, request: int, reply: int, null: int) -> None:
    """Keep only the two channels, with /dev/null for the standard three."""
    # The given descriptors may have the numbers of others: first move them out of the way.
    request, reply, null = (fcntl.fcntl(fd, fcntl.F_DUPFD, REPLY + 1) for fd in (request, reply, null))
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.dup2(request, REQUEST, inheritable=False)
    os.dup2(reply, REPLY, inheritable=False)
    os.closerange(REPLY + 1, max(request, reply, null, resource.getrlimit(resource.RLIMIT_NOFILE)[0]) + 1)


def confine(
    layers: Collection[str], policy: seccomp.Filter | None, *, parent: int, memory_mb: int, cpu_total_s: float
) -> None:
    """Put on these layers; `policy` is what `prepare` made."""
    check_canary()
    if LIMITS in layers:
        _limit(memory_mb, cpu_total_s)
    if PRIVILEGES in layers:
        _drop_privileges()
    _die_with(parent)  # after the change of user, which would undo it
    no_new_privileges()
    if LANDLOCK in layers:
        landlock.restrict()
        if denied() != errno.EACCES:
            raise OSError("Landlock took hold and denies nothing")
    if policy is not None:
        policy.install(_libc)
        if denied() != errno.EPERM:
            raise OSError("the system call filter took hold and denies nothing")


def check_canary() -> None:
    """Raises OSError when the canary cannot be opened even now: it would prove nothing."""
    if denied() is not None:
        raise OSError(f"{CANARY} cannot be opened even without confinement: nothing can be proven")


def denied() -> int | None:
    """The error number of opening the canary; None when it opens."""
    try:
        os.close(os.open(CANARY, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as refusal:
        return refusal.errno
    return None


def _limit(memory_mb: int, cpu_total_s: float) -> None:
    # A backstop behind the harness's own CPU limit: SIGXCPU, and a second later SIGKILL.
    seconds = int(cpu_total_s) + 2
    for limit, soft, hard in (
        (resource.RLIMIT_AS, memory_mb << 20, memory_mb << 20),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        resource.setrlimit(limit, (soft, hard))


def _drop_privileges() -> None:
    """Be nobody when root, and hold no capability in any case."""
    is_root = os.getuid() == 0 and _become_nobody()
    drop_capabilities()
    if not is_root:
        with contextlib.suppress(OSError):
            os.setuid(0)
            raise RuntimeError("the process can still become root")


def drop_capabilities() -> None:
    """Drop all capabilities, root's too, and gain none by starting a program. Raises OSError."""
    no_new_privileges()
    with contextlib.suppress(OSError):  # a kernel without ambient capabilities has none to clear
        _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    if _libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())) != 0:
        raise landlock.last_error("capset")
    held = (ctypes.c_uint32 * 6)()
    if _libc.capget(ctypes.byref(header), ctypes.byref(held)) != 0 or any(held):
        raise OSError("capabilities are still held")


def no_new_privileges() -> None:
    """Let no program that this process starts have more rights than it has."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def dumpable(yes: bool) -> None:
    """Whether other processes of the same user may look into this one."""
    _prctl(_PR_SET_DUMPABLE, int(yes))


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _become_nobody() -> bool:
    """Become nobody; True if it stays root of a user namespace without nobody, an ordinary user to the outside."""
    try:
        os.setresgid(NOBODY, NOBODY, NOBODY)
    except OSError as refusal:
        if refusal.errno == errno.EINVAL:  # no such user here
            return True
        raise
    os.setgroups([])
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return False


def end_with_parent() -> None:
    """Be killed when the thread that made this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _die_with(parent: int) -> None:
    end_with_parent()
    if os.getppid() != parent:
        raise OSError("the parent process has ended")
    _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise landlock.last_error(f"prctl({option})")
