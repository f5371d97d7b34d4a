"""The system call filter, run instruction by instruction for every architecture that it is written for."""

import errno
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox import seccomp

MACHINES = sorted(seccomp.ARCHITECTURES)
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
EPERM = 0x00050000 | errno.EPERM
ENOSYS = 0x00050000 | errno.ENOSYS


def answer(machine: str, number: int, arguments: Sequence[int] = (), *, audit: int | None = None) -> int:
    """What the filter of a machine returns for one system call: a classic BPF machine in a dozen lines."""
    program = seccomp.assemble(machine)
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, seccomp.ARCHITECTURES[machine][1] if audit is None else audit, 0, *padded)
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, constant = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if operation == 0x06:
            return int(constant)
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, constant)
        else:
            holds = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: bool(accumulator & constant)}
            at += if_true if holds[operation] else if_false


def number(name: str, machine: str) -> int:
    found = seccomp.number_of(name, machine)
    assert found is not None
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_computing_interpreter_needs_is_allowed(machine: str) -> None:
    for name in ("read", "write", "brk", "munmap", "mremap", "getrandom", "rt_sigaction", "exit_group"):
        assert answer(machine, number(name, machine)) == seccomp.ALLOW, name


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_may_be_mapped_and_never_executed(machine: str) -> None:
    for name in ("mmap", "mprotect"):
        call = number(name, machine)
        assert answer(machine, call, [0, 4096, PROT_READ | PROT_WRITE]) == seccomp.ALLOW
        assert answer(machine, call, [0, 4096, PROT_READ | PROT_EXEC]) == EPERM
        assert answer(machine, call, [0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC]) == EPERM


PRIVATE, REALTIME = 128, 256
WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET = 0, 1, 3, 4, 5, 9, 10
FUTEX_WAITV, FUTEX_WAKE, FUTEX_WAIT, FUTEX_REQUEUE = 449, 454, 455, 456  # the newer calls


@pytest.mark.parametrize("machine", MACHINES)
def test_a_futex_is_private_to_its_process_and_names_none(machine: str) -> None:
    """What is left out holds the number of a process: LOCK_PI and every other form with priority inheritance."""
    call = number("futex", machine)
    plain = {WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET}
    wanted = {operation | PRIVATE | clock for operation in plain for clock in (0, REALTIME)}
    assert {word for word in range(2048) if answer(machine, call, [0, word]) == seccomp.ALLOW} == wanted
    assert answer(machine, call, [0, 1 << 31 | PRIVATE | WAKE]) == EPERM
    for newer in (FUTEX_WAITV, FUTEX_WAKE, FUTEX_WAIT, FUTEX_REQUEUE):
        assert answer(machine, newer, [0, 0, 0, 2 | PRIVATE]) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
@given(process=st.integers(0, 2**22), kind=st.integers(0, 7))
def test_no_clock_of_a_process_can_be_read(machine: str, process: int, kind: int) -> None:
    """Not of another one, nor of one of whatever number, nor of a device."""
    for name in ("clock_gettime", "clock_getres"):
        call = number(name, machine)
        for clock in range(12):
            assert answer(machine, call, [clock]) == seccomp.ALLOW
        assert answer(machine, call, [(~process << 3 | kind) & 0xFFFFFFFF]) == EPERM
        assert answer(machine, call, [(~process << 3 | kind) & 0xFFFFFFFFFFFFFFFF]) == EPERM
        assert answer(machine, call, [12]) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_a_candidate_learns_nothing_about_other_processes(machine: str) -> None:
    assert answer(machine, number("sched_getaffinity", machine), [0, 8]) == seccomp.ALLOW
    assert answer(machine, number("sched_getaffinity", machine), [1, 8]) == EPERM
    for name in ("getpid", "getppid", "gettid"):
        assert answer(machine, number(name, machine)) == 0x00050000  # "no error": the answer is 0
    advice = {value for value in range(200) if answer(machine, number("madvise", machine), [0, 0, value]) != EPERM}
    assert advice == {0, 1, 2, 4, 8, 14, 15}  # no WILLNEED, no PAGEOUT, no COLD, no MERGEABLE


# From the kernel's tables: open, openat, socket, connect, clone, execve, kill, sleep, memfd_create and their like.
REFUSED = {
    "x86_64": [2, 257, 41, 42, 53, 56, 57, 58, 59, 62, 4, 21, 35, 230, 319, 89, 157, 160, 302, 322],
    "aarch64": [56, 198, 203, 199, 220, 221, 129, 79, 48, 101, 115, 279, 78, 167, 164, 261, 281],
}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_honest_programs_do_by_accident_is_an_error_they_can_read(machine: str) -> None:
    for call in REFUSED[machine]:
        assert answer(machine, call) == EPERM, call
    assert answer(machine, number("clone3", machine)) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_what_no_honest_program_does_ends_it(machine: str) -> None:
    for name in ("ptrace", "bpf", "io_uring_setup", "userfaultfd", "mount", "unshare", "setns", "keyctl", "seccomp"):
        assert answer(machine, number(name, machine)) == seccomp.KILL, name


@pytest.mark.parametrize("machine", MACHINES)
@given(call=st.integers(0, 0xFFFFFFFF))
def test_another_abi_ends_it_whatever_the_call(machine: str, call: int) -> None:
    own = seccomp.ARCHITECTURES[machine][1]
    for audit in {0xC000003E, 0xC00000B7, 0x40000003, 0x40000028} - {own}:
        assert answer(machine, call, audit=audit) == seccomp.KILL


@given(call=st.integers(0x40000000, 0xFFFFFFFF))
def test_x32_ends_it(call: int) -> None:
    assert answer("x86_64", call) == seccomp.KILL


@pytest.mark.parametrize("machine", MACHINES)
@given(call=st.integers(470, 0x3FFFFFFF))
def test_calls_that_nobody_knows_yet_are_refused(machine: str, call: int) -> None:
    assert answer(machine, call) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_about_forty_calls_are_allowed_and_no_more(machine: str) -> None:
    assert sum(answer(machine, call) == seccomp.ALLOW for call in range(600)) <= 38


def test_the_filter_fits_in_the_kernels_limit() -> None:
    assert all(len(seccomp.assemble(machine)) // 8 <= 4096 for machine in MACHINES)
