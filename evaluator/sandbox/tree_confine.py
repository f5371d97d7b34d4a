"""Confines the first process of a tree, from inside, between fork and exec of the command.

Each layer is tested before the command starts. One that fails, or denies nothing, raises OSError, and the command does
not start. The user stays the same; its capabilities go.
"""

import contextlib
import ctypes
import errno
import os
import resource
import signal
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.sandbox import jail, landlock
from evaluator.sandbox.layers import LANDLOCK, LIMITS, PRIVILEGES, SECCOMP
from evaluator.sandbox.seccomp import Filter
from evaluator.sandbox.tree_policy import sched_setattr_number

MOST_TASKS: Final = 512
"""Processes and threads of a tree at a time."""
_MOST_FILES: Final = 1024
_RESET_ON_FORK: Final = 1
_TURN_NS: Final = 100_000
_MS_READ_ONLY_BIND: Final = 1 | 32 | 4096  # MS_RDONLY, MS_REMOUNT, MS_BIND
_MS_RELATIME: Final = 1 << 21
_AF_INET: Final = 2
_SOCK_STREAM: Final = 1
_libc = ctypes.CDLL(None, use_errno=True)


def drop_mount(path: str) -> None:
    """Remove a mount with all mounts in it, for every process without a descriptor of it. Raises OSError."""
    if _libc.umount2(os.fsencode(path), 2) != 0:  # MNT_DETACH
        raise landlock.last_error(f"umount2({path})")


def wake_soon() -> None:
    """Ask the scheduler for short, and so early, turns: the watcher of a tree must not wait behind it. From Linux 6.12
    on; without it, looks come later where there are many processes."""
    attributes = struct.pack("=IIQiIQQQ", 48, 0, _RESET_ON_FORK, os.getpriority(os.PRIO_PROCESS, 0), 0, _TURN_NS, 0, 0)
    call = sched_setattr_number(os.uname().machine)
    if call is not None:
        _libc.syscall(ctypes.c_long(call), ctypes.c_int(0), attributes, ctypes.c_uint(0))


def freeze(device: str) -> None:
    """Keep mode and owner of a mounted device from being changed, which root could. Raises OSError."""
    flags = os.statvfs(device).f_flag
    kept = flags & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    kept |= _MS_RELATIME if flags & os.ST_RELATIME else 0
    if _libc.mount(None, os.fsencode(device), None, ctypes.c_ulong(_MS_READ_ONLY_BIND | kept), None) != 0:
        raise landlock.last_error(f"mount({device})")


def limit(limits: Mapping[str, Any]) -> None:
    """Set the limits of each single process, in addition to those of the whole tree."""
    memory, scratch = limits["memory_mb"] << 20, limits["scratch_mb"] << 20
    seconds = int(limits["cpu_s"]) + 2
    for kind, value in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, scratch),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def confine(
    layers: Sequence[str],
    limits: Mapping[str, Any],
    allowed: Sequence[tuple[str, int]],
    policy: Filter | None,
    *,
    proc: int,
) -> int:
    """Put on the layers and test each; the descriptor of the filter's listener, -1 without a filter. `allowed` are
    paths with their Landlock rights; `proc` is a descriptor of /proc. Raises OSError."""
    init = os.getppid()
    jail.check_canary()
    if LIMITS in layers:
        limit(limits)
    jail.dumpable(True)
    _be_killed_first(proc)
    if PRIVILEGES in layers:
        jail.drop_capabilities()
    if LANDLOCK in layers:
        jail.no_new_privileges()  # the kernel asks for it of everybody but root
        landlock.restrict(allowed)
        if jail.denied() != errno.EACCES:
            raise OSError("Landlock took hold and denies nothing")
        if landlock.version() >= landlock.SCOPED_SINCE and _signals(init):
            raise OSError("Landlock took hold and lets signals out")
    if SECCOMP not in layers:
        return -1
    if policy is None:
        raise OSError("there is no system call filter for this machine")
    jail.no_new_privileges()
    listener = policy.install_with_listener(_libc)
    if _libc.unshare(0) == 0 or ctypes.get_errno() != errno.EPERM:
        raise OSError("the system call filter took hold and denies nothing")
    if _libc.socket(_AF_INET, _SOCK_STREAM, 0) >= 0 or ctypes.get_errno() != errno.EPERM:
        raise OSError("the system call filter took hold and leaves the network open")
    return listener


def take(pidfd: int, descriptor: int) -> int:
    """A copy of another process's descriptor. Raises OSError."""
    taken = _libc.syscall(ctypes.c_long(438), ctypes.c_int(pidfd), ctypes.c_int(descriptor), ctypes.c_uint(0))
    if taken < 0:
        raise landlock.last_error("pidfd_getfd")
    return int(taken)


def _signals(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as refusal:
        return refusal.errno != errno.EPERM
    return True


def _be_killed_first(proc: int) -> None:
    """Ask the kernel to end this tree before the user's other processes where memory runs out."""
    with contextlib.suppress(OSError):
        file = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(file, b"1000")
        finally:
            os.close(file)


def default_signals() -> None:
    """Reset signals that the harness, Python or `tree_init` ignores or blocks: a command that ends its worker by
    SIGTERM and waits for it would wait for ever."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
