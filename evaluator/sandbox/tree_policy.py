"""The system calls of a process tree: all but those that this table refuses, assembled like the filter of candidates.

A script starts compilers and shells, so a call that is not named is allowed, and one newer than the table is absent.
Every refusal is an error and never ends the process: libraries try such calls and can do without. `tree_init` is asked
before a process or a thread starts, to count them, and before a process ends, to read its clock.
"""

import errno
from collections.abc import Sequence
from typing import Final

from evaluator.sandbox import seccomp
from evaluator.sandbox.seccomp import (
    ALLOW,
    ARCHITECTURES,
    ASK,
    IF_EQUAL,
    REFUSE,
    Instruction,
    Table,
    load,
    only,
    returning,
)

ASKED: Final[Table] = {
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "exit_group": (231, 94),
}
"""Calls that wait for `tree_init`."""
# Memory that belongs to no process, and so to no account; calls that reach into other processes or change confinement.
_REFUSED: Final[Table] = {
    **seccomp.KILLED,
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "process_mrelease": (448, 448),
    "fanotify_mark": (301, 263),
    "quotactl_fd": (443, 443),
    "statmount": (457, 457),
    "listmount": (458, 458),
}
# Landlock has no rights for changing a file's metadata or watching its use, and these calls need not open it. Refused
# where only Landlock is between a tree and the files of its user.
_CHANGES: Final[Table] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
}
# Without a network of its own, a tree gets socket pairs only. A message could carry an address, or hide the descriptor
# of a file without a name.
_SOCKETS: Final[Table] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}
# First arguments: the caller itself, not another process (0 for those whose argument is a process id).
_OF_SELF: Final[Table] = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
}
_PRIORITIES: Final[dict[str, tuple[tuple[int, int], int]]] = {
    "setpriority": ((141, 140), 0),  # PRIO_PROCESS
    "ioprio_set": ((251, 30), 1),  # IOPRIO_WHO_PROCESS
}
_PRCTL: Final[Table] = {"prctl": (157, 167)}
# dumpable (who may look into a process), seccomp, the layout of memory, ptracer, I/O flusher, core scheduling, merging.
_PRCTL_REFUSED: Final = (4, 22, 35, 0x59616D61, 57, 62, 67)
_FCNTL: Final[Table] = {"fcntl": (72, 25)}
_SETLEASE: Final = 1024
_IOCTL: Final[Table] = {"ioctl": (16, 29)}
# For terminals and pipes: TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Not TIOCSTI, nor calls
# that change a file's flags with only the right to read it.
_IOCTLS: Final = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_MMAP: Final[Table] = {"mmap": (9, 222)}
_SHARED_ANONYMOUS: Final = 0x21  # stays allocated when no page of it is mapped, and counts for no process
_HUGETLB: Final = 0x40000  # counts for no process
# LOCK_PI, UNLOCK_PI, TRYLOCK_PI, WAIT_REQUEUE_PI, CMP_REQUEUE_PI, LOCK_PI2: they tie a process to any other one by its
# number, also outside the tree. The C library takes their absence for an old kernel.
_FUTEX_INHERITING: Final = (6, 7, 8, 11, 12, 13)
_NAMESPACES: Final = 0x7E020000
_CLONE: Final[Table] = {"clone": ASKED["clone"]}
_CLONE3: Final[Table] = {"clone3": (435, 435)}  # glibc falls back to clone, whose flags can be looked at
_SOCKET: Final[Table] = {"socket": _SOCKETS["socket"]}
_SOCKETPAIR: Final[Table] = {"socketpair": (53, 199)}
_UNIX: Final = 1
_STREAMS: Final = (1, 5)  # connected for good; a datagram socket of a pair can be sent anywhere
_SOCKET_TYPE: Final = 0xF
# Of a process with one program and a network: it starts none, and signals none.
_OTHERS: Final[Table] = {
    "fork": ASKED["fork"],
    "vfork": ASKED["vfork"],
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
_CLONE_THREAD: Final = 0x10000
_NEWEST: Final = 462
"""The newest system call that the table covers."""


def ending_number(machine: str) -> int | None:
    """The number of `exit_group`, which ends a process."""
    return ASKED["exit_group"][ARCHITECTURES[machine][0]]


def sched_setattr_number(machine: str) -> int | None:
    """The number of the call that asks for short turns; None on an unknown machine."""
    return _OF_SELF["sched_setattr"][ARCHITECTURES[machine][0]] if machine in ARCHITECTURES else None


def assemble_tree(machine: str, *, own_namespaces: bool) -> bytes:
    """The filter of trees for a machine (`os.uname().machine`). `own_namespaces`: the tree has its own mount and
    network namespaces, so that it may change files and make sockets. Raises KeyError."""
    refusal = returning(REFUSE)
    rules: list[seccomp.Rule] = [
        (_CLONE3, returning(seccomp.ABSENT)),
        (_CLONE, [*load(0), (seccomp.IF_BITS, 0, 1, _NAMESPACES), *refusal, *returning(ASK)]),
        (ASKED, returning(ASK)),
        (_REFUSED, refusal),
        (_OF_SELF, [*load(0), *only((0,))]),
        (_PRCTL, [*load(0), *_none_of(_PRCTL_REFUSED)]),
        (_FCNTL, [*load(1), *_none_of((_SETLEASE,))]),
        (_IOCTL, [*load(1), *only(_IOCTLS, seccomp.ERRNO | errno.ENOTTY)]),
        (_MMAP, _mapping()),
        (seccomp.FUTEX, [*load(1), _masked(~seccomp.FUTEX_FLAGS), *_none_of(_FUTEX_INHERITING, seccomp.ABSENT)]),
    ]
    for name, (numbers, kind) in _PRIORITIES.items():
        rules.append(({name: numbers}, [*load(0), (IF_EQUAL, 1, 0, kind), *refusal, *load(1), *only((0,))]))
    if own_namespaces:
        rules += [(_SOCKET, [*load(0), *only((_UNIX,))]), (_SOCKETPAIR, [*load(0), *only((_UNIX,))])]
    else:
        pair = [*load(0), (IF_EQUAL, 1, 0, _UNIX), *refusal, *load(1), _masked(_SOCKET_TYPE), *only(_STREAMS)]
        rules += [(_CHANGES, refusal), (_SOCKETS, refusal), (_SOCKETPAIR, pair)]
    return seccomp.assembled(machine, rules, ALLOW, newest=_NEWEST)


def assemble_networked(machine: str) -> bytes:
    """The filter of a process of the harness that talks to machines which need not be honest, for a machine
    (`os.uname().machine`). It starts threads and opens network sockets, and neither starts nor signals another process,
    nor changes a file's metadata. Raises KeyError."""
    refusal = returning(REFUSE)
    rules: list[seccomp.Rule] = [
        (_CLONE3, returning(seccomp.ABSENT)),
        (_CLONE, [*load(0), (seccomp.IF_BITS, 1, 0, _CLONE_THREAD), *refusal, *returning(ALLOW)]),
        (_OTHERS, refusal),
        (_REFUSED, refusal),
        (_CHANGES, refusal),
        (_OF_SELF, [*load(0), *only((0,))]),
        (_SOCKET, [*load(0), *_none_of((_UNIX,))]),
    ]
    return seccomp.assembled(machine, rules, ALLOW, newest=_NEWEST)


def _mapping() -> list[Instruction]:
    """Refuse memory that counts for no process."""
    return [
        *load(3),
        (seccomp.IF_BITS, 3, 0, _HUGETLB),
        _masked(_SHARED_ANONYMOUS),
        (IF_EQUAL, 1, 0, _SHARED_ANONYMOUS),
        *returning(ALLOW),
        *returning(REFUSE),
    ]


def _masked(bits: int) -> Instruction:
    """Keep these bits of the loaded word."""
    return seccomp.AND, 0, 0, bits & 0xFFFFFFFF


def _none_of(values: Sequence[int], refusal: int = REFUSE) -> list[Instruction]:
    """Refuse when the loaded word is one of the values, and allow otherwise."""
    return seccomp.chosen(values, refusal, ALLOW)
