"""The system call filter of process trees, run instruction by instruction for every architecture."""

import errno
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox import seccomp, tree_policy

MACHINES = sorted(seccomp.ARCHITECTURES)
EPERM, ENOSYS, ENOTTY = (seccomp.ERRNO | number for number in (errno.EPERM, errno.ENOSYS, errno.ENOTTY))
both_kinds = pytest.mark.parametrize("own", [True, False], ids=["strong", "standard"])
on_each_machine = pytest.mark.parametrize("machine", MACHINES)

# From the kernel's tables, written down again: (x86-64, aarch64).
CALLS = {
    "read": (0, 63),
    "openat": (257, 56),
    "execve": (59, 221),
    "mmap": (9, 222),
    "clone": (56, 220),
    "exit_group": (231, 94),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "fchmod": (91, 52),
    "utimensat": (280, 88),
    "kill": (62, 129),
    "clone3": (435, 435),
    "futex": (202, 98),
    "memfd_create": (319, 279),
    "shmget": (29, 194),
}


def answer(machine: str, call: int, arguments: Sequence[int] = (), *, own: bool) -> int:
    """What the filter returns: a classic BPF machine in a dozen lines."""
    program = tree_policy.assemble_tree(machine, own_namespaces=own)
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", call, seccomp.ARCHITECTURES[machine][1], 0, *padded)
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, constant = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if operation == 0x06:
            return int(constant)
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, constant)
        elif operation == 0x54:
            accumulator &= constant
        else:
            holds = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: bool(accumulator & constant)}
            at += if_true if holds[operation] else if_false


def asked(machine: str, name: str, *arguments: int, own: bool) -> int:
    return answer(machine, CALLS[name][seccomp.ARCHITECTURES[machine][0]], arguments, own=own)


@both_kinds
@on_each_machine
def test_a_shell_or_a_compiler_may_do_what_it_does(machine: str, own: bool) -> None:
    for name in ("read", "openat", "execve", "kill", "sendto"):
        assert asked(machine, name, own=own) == seccomp.ALLOW, name
    assert asked(machine, "ioctl", 1, 0x5401, own=own) == seccomp.ALLOW
    assert asked(machine, "fcntl", 1, 1030, own=own) == seccomp.ALLOW
    assert asked(machine, "prctl", 15, own=own) == seccomp.ALLOW
    for name in ("prlimit64", "sched_setaffinity"):
        assert asked(machine, name, 0, own=own) == seccomp.ALLOW
    assert asked(machine, "setpriority", 0, 0, own=own) == asked(machine, "ioprio_set", 1, 0, own=own) == seccomp.ALLOW


@both_kinds
@on_each_machine
@given(call=st.sampled_from(sorted(seccomp.KILLED)), arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_what_reaches_out_is_refused_whatever_its_arguments(
    machine: str, own: bool, call: str, arguments: list[int]
) -> None:
    number = seccomp.number_of(call, machine)
    if number is not None:
        assert answer(machine, number, arguments, own=own) == EPERM
    for name in ("memfd_create", "shmget"):
        assert asked(machine, name, *arguments, own=own) == EPERM


@both_kinds
@on_each_machine
@given(flags=st.integers(0, 2**32 - 1))
def test_a_process_may_be_asked_for_and_no_namespace(machine: str, own: bool, flags: int) -> None:
    """CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET."""
    namespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
    wanted = EPERM if flags & namespaces else seccomp.ASK
    assert asked(machine, "clone", flags, own=own) == wanted
    assert asked(machine, "clone3", flags, own=own) == ENOSYS
    assert asked(machine, "exit_group", flags, own=own) == seccomp.ASK


@both_kinds
@on_each_machine
@given(process=st.integers(1, 2**32 - 1), kind=st.integers(0, 3))
def test_only_the_caller_itself_can_be_given_limits_and_priorities(
    machine: str, own: bool, process: int, kind: int
) -> None:
    for name in ("prlimit64", "sched_setaffinity"):
        assert asked(machine, name, process, own=own) == EPERM
    for name in ("setpriority", "ioprio_set"):
        assert asked(machine, name, kind, process, own=own) == EPERM
    assert asked(machine, "setpriority", 2, 0, own=own) == asked(machine, "ioprio_set", 3, 0, own=own) == EPERM


@both_kinds
@on_each_machine
@given(flags=st.integers(0, 2**20 - 1))
def test_there_is_no_memory_of_nobody(machine: str, own: bool, flags: int) -> None:
    nobodys = flags & 0x21 == 0x21 or flags & 0x40000
    assert asked(machine, "mmap", 0, 4096, 3, flags, own=own) == (EPERM if nobodys else seccomp.ALLOW)


@both_kinds
@on_each_machine
def test_a_futex_names_no_process(machine: str, own: bool) -> None:
    """LOCK_PI and every other form with priority inheritance: absent, as in a kernel without them."""
    for flags in (0, 128, 256, 384):
        refused = {op for op in range(64) if asked(machine, "futex", 0, op | flags, own=own) != seccomp.ALLOW}
        assert refused == {6, 7, 8, 11, 12, 13}
    assert asked(machine, "futex", 0, 6 | 128, own=own) == ENOSYS


@both_kinds
@on_each_machine
@given(command=st.integers(0, 2**32 - 1))
def test_files_and_terminals_are_asked_little(machine: str, own: bool, command: int) -> None:
    known = {0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451}
    for value in (command, 0x5412, 0x541C, 0x40086602, 0x401C5820, 0x40806685):
        assert asked(machine, "ioctl", 0, value, own=own) == (seccomp.ALLOW if value in known else ENOTTY)


@on_each_machine
@given(family=st.integers(0, 45), kind=st.integers(0, 10), flags=st.sampled_from([0, 0x800, 0x80000, 0x80800]))
def test_sockets_are_of_the_machine_itself_or_pairs(machine: str, family: int, kind: int, flags: int) -> None:
    unix = seccomp.ALLOW if family == 1 else EPERM
    assert asked(machine, "socket", family, kind | flags, own=True) == unix
    assert asked(machine, "socketpair", family, kind | flags, own=True) == unix
    assert asked(machine, "socket", family, kind | flags, own=False) == EPERM
    connected = family == 1 and kind in (1, 5)
    assert asked(machine, "socketpair", family, kind | flags, own=False) == (seccomp.ALLOW if connected else EPERM)
    for name in ("connect", "sendmsg"):
        assert asked(machine, name, own=False) == EPERM


@on_each_machine
def test_what_files_are_is_changed_only_where_there_is_a_mount_namespace(machine: str) -> None:
    for name in ("fchmod", "utimensat"):
        assert asked(machine, name, own=True) == seccomp.ALLOW
        assert asked(machine, name, own=False) == EPERM


@both_kinds
@on_each_machine
@given(call=st.integers(463, 0x3FFFFFFF))
def test_calls_that_nobody_knows_yet_are_absent(machine: str, own: bool, call: int) -> None:
    assert answer(machine, call, own=own) == ENOSYS
