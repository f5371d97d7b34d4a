"""The system calls that a candidate may make: a table for x86-64 and aarch64, assembled into classic BPF. The filter of
process trees (`tree_policy`) is assembled from the same parts.

A call is allowed (what the interpreter needs once everything is loaded), refused with EPERM (files, network, threads,
processes, sleeping: an honest program gets a clear exception), answered with zero (process numbers), or ends the
process (calls that no honest program makes, and that have been ways out of sandboxes). An unlisted call is refused.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Sequence
from typing import Final

Table = dict[str, tuple[int | None, int | None]]
"""System calls by name: their numbers on (x86-64, aarch64), None where an architecture has no such call."""

_ALLOWED: Final[Table] = {
    "read": (0, 63),
    "write": (1, 64),
    "brk": (12, 214),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "times": (100, 153),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "lseek": (8, 62),
    "writev": (20, 66),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "uname": (63, 160),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
# Allowed without PROT_EXEC in their third argument: no code but what was loaded before.
_ALLOWED_WITHOUT_EXEC: Final[Table] = {
    "mmap": (9, 222),
    "mprotect": (10, 226),
}
# Nothing through which candidates in different workers could communicate. A futex that is not private lies on a page,
# and pages of libc's file are shared; clocks below zero or beyond the standard ones belong to other processes. Futexes
# with priority inheritance hold the number of their owner: taking one shows a candidate its own number, and whether a
# process of any other number lives.
FUTEX: Final[Table] = {"futex": (202, 98)}
_ALLOWED_CLOCKS: Final[Table] = {
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
}
_ALLOWED_OF_SELF: Final[Table] = {"sched_getaffinity": (204, 123)}
# Advice about this process's own pages: MADV_PAGEOUT or MADV_WILLNEED would move pages that others map.
_ALLOWED_ADVICE: Final[Table] = {"madvise": (28, 233)}
_ADVICE: Final = (0, 1, 2, 4, 8, 14, 15)  # normal, random, sequential, dontneed, free, hugepage, nohugepage
# Every new process changes these counters, which would show a candidate how many there are.
_ZERO: Final[Table] = {
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
}
# glibc takes ENOSYS as "too old a kernel" and falls back to clone, which is refused.
_ABSENT: Final[Table] = {"clone3": (435, 435)}
KILLED: Final[Table] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "seccomp": (317, 277),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "ioperm": (173, None),
    "iopl": (172, None),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "fanotify_init": (300, 262),
    "memfd_secret": (447, 447),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
}

ARCHITECTURES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the table and the kernel's audit number of each known machine."""

_X32_BIT: Final = 0x40000000
_PROT_EXEC: Final = 4
# Operations of classic BPF. Jumps say how many instructions to skip where the test holds, and where it does not.
LOAD: Final = 0x20  # ld [k]
AND: Final = 0x54
IF_EQUAL: Final = 0x15
IF_AT_LEAST: Final = 0x35
IF_BITS: Final = 0x45
RETURN: Final = 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # of struct seccomp_data; of an argument the low half counts
_FUTEX_PRIVATE: Final = 128
_FUTEX_REALTIME: Final = 256
FUTEX_FLAGS: Final = _FUTEX_PRIVATE | _FUTEX_REALTIME
# WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET
_FUTEX_OPERATIONS: Final = tuple(
    operation | _FUTEX_PRIVATE | clock for operation in (0, 1, 3, 4, 5, 9, 10) for clock in (0, _FUTEX_REALTIME)
)
_CLOCKS: Final = 12  # CLOCK_REALTIME to CLOCK_TAI
KILL: Final = 0x80000000
ALLOW: Final = 0x7FFF0000
ERRNO: Final = 0x00050000
REFUSE: Final = ERRNO | errno.EPERM
ABSENT: Final = ERRNO | errno.ENOSYS
ASK: Final = 0x7FC00000
"""The holder of the filter's listener decides."""

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_SET_MODE_FILTER: Final = 1
_NEW_LISTENER: Final = 8


class _Assembly(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


Instruction = tuple[int, int, int, int]
"""Operation, jump if it holds, jump if not, constant: struct sock_filter."""
Rule = tuple[Table, list[Instruction]]
"""The instructions for the system calls of a table; the call's number is loaded."""


def assembled(machine: str, rules: Sequence[Rule], otherwise: int, *, newest: int | None = None) -> bytes:
    """A filter for a machine (`os.uname().machine`) as an array of struct sock_filter. A call by another ABI ends the
    process, a call newer than `newest` is absent, one without a rule gets the verdict `otherwise`. Raises KeyError."""
    column, audit = ARCHITECTURES[machine]
    code = [
        (LOAD, 0, 0, _ARCHITECTURE_AT),
        (IF_EQUAL, 1, 0, audit),
        *returning(KILL),
        (LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        code += [(IF_AT_LEAST, 0, 1, _X32_BIT), *returning(KILL)]
    if newest is not None:
        code += [(IF_AT_LEAST, 0, 1, newest + 1), *returning(ABSENT)]
    for table, body in rules:
        for numbers in table.values():
            if (number := numbers[column]) is not None:
                code += [(IF_EQUAL, 0, len(body), number), *body]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in [*code, *returning(otherwise)])


def assemble(machine: str) -> bytes:
    """The filter of candidates. Raises KeyError."""
    rules: list[Rule] = [
        (_ALLOWED, returning(ALLOW)),
        (_ALLOWED_WITHOUT_EXEC, [*load(2), *_unless(IF_BITS, _PROT_EXEC)]),
        (FUTEX, [*load(1), *only(_FUTEX_OPERATIONS)]),
        (_ALLOWED_CLOCKS, [*load(0), *_unless(IF_AT_LEAST, _CLOCKS)]),
        (_ALLOWED_OF_SELF, [*load(0), *only((0,))]),
        (_ALLOWED_ADVICE, [*load(2), *only(_ADVICE)]),
        (_ZERO, returning(ERRNO)),
        (_ABSENT, returning(ABSENT)),
        (KILLED, returning(KILL)),
    ]
    return assembled(machine, rules, REFUSE)


def load(argument: int) -> list[Instruction]:
    """Load an argument of the call, the first being 0."""
    return [(LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)]


def returning(verdict: int) -> list[Instruction]:
    """End with a verdict."""
    return [(RETURN, 0, 0, verdict)]


def only(values: Sequence[int], otherwise: int = REFUSE) -> list[Instruction]:
    """Allow when the loaded word is one of the values."""
    return chosen(values, ALLOW, otherwise)


def chosen(values: Sequence[int], verdict: int, otherwise: int) -> list[Instruction]:
    """One verdict when the loaded word is one of the values, and another otherwise."""
    tests = [(IF_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [*tests, *returning(otherwise), *returning(verdict)]


def _unless(test: int, value: int) -> list[Instruction]:
    """Refuse when the loaded word passes the test, and allow otherwise."""
    return [(test, 0, 1, value), *returning(REFUSE), *returning(ALLOW)]


def number_of(name: str, machine: str) -> int | None:
    """The number of a system call that is in the tables."""
    column, _ = ARCHITECTURES[machine]
    tables = (_ALLOWED, _ALLOWED_WITHOUT_EXEC, FUTEX, _ALLOWED_CLOCKS, _ALLOWED_OF_SELF, _ALLOWED_ADVICE)
    return next(table[name][column] for table in (*tables, _ZERO, _ABSENT, KILLED) if name in table)


class Filter:
    """An assembled filter for this machine, made once and installed by each process to confine."""

    def __init__(self, assembled: Callable[[str], bytes] = assemble) -> None:
        """Assemble it, that of candidates by default. Raises OSError on an unknown architecture."""
        machine = os.uname().machine
        if machine not in ARCHITECTURES or ctypes.sizeof(ctypes.c_void_p) != 8:
            raise OSError(errno.ENOTSUP, f"no system call filter for the architecture {machine!r}")
        code = assembled(machine)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Assembly(len(code) // 8, ctypes.addressof(self._code))

    def install(self, libc: ctypes.CDLL) -> None:
        """Confine this process, for good. Raises OSError."""
        self._installed(libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(self._program), 0, 0))

    def install_with_listener(self, libc: ctypes.CDLL) -> int:
        """Confine this process, for good; returns the listener's descriptor, which receives calls with the verdict ASK.
        Raises OSError."""
        call = number_of("seccomp", os.uname().machine)
        arguments = ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(_NEW_LISTENER), ctypes.byref(self._program)
        return self._installed(libc.syscall(ctypes.c_long(call or 0), *arguments))

    @staticmethod
    def _installed(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"the system call filter is refused by the kernel (errno {number})")
        return result
