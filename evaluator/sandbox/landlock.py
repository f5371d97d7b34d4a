"""Landlock by its three system calls: no right on any file, no TCP, no signal and no abstract socket to the outside.

The numbers are the same on every 64-bit architecture. The kernel's version says which rights it handles; newer ones are
left out. A candidate gets an empty ruleset, which denies all of them; a process tree gets rights on what it may read
and on its scratch folder.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))  # (version, how many rights it knows)
_NET_RIGHTS: Final = 0b11  # bind and connect TCP, from version 4
_SCOPES: Final = 0b11  # abstract sockets and signals, from version 6
SCOPED_SINCE: Final = 6
"""The first version that keeps signals inside."""
_PATH_BENEATH: Final = 1
_OF_FILES: Final = 0b1100000000000111  # execute, write, read, truncate, ioctl: what a rule on a file may name
READING: Final = 0b1101
"""Execute and read files, list folders."""
LISTING: Final = 0b1000
"""List a folder."""
SENDING: Final = 0b110
"""Read and write existing files: devices."""
OWNING: Final = 0b111011110111111
"""All rights but making devices and ioctl on them."""
_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of the kernel's Landlock; 0 when it has none, or it is switched off."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))))


def restrict(allowed: Iterable[tuple[str, int]] = (), *, network: bool = False) -> None:
    """Give up every right that the kernel handles, for good, except those in `allowed`: (path, rights), for a folder
    with everything in it. `network`: TCP stays allowed. Raises OSError."""
    supported = version()
    if not supported:
        raise OSError("this kernel has no Landlock, or has it switched off")
    rights = (1 << max(count for since, count in _FILE_RIGHTS if supported >= since)) - 1
    attributes = struct.pack("=Q", rights)
    if supported >= 4:
        attributes += struct.pack("=Q", 0 if network else _NET_RIGHTS)
    if supported >= SCOPED_SINCE:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if ruleset < 0:
        raise last_error("landlock_create_ruleset")
    try:
        for path, wanted in allowed:
            _allow(ruleset, path, wanted & rights)
        if _libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)) != 0:
            raise last_error("landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        if _libc.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0)) != 0:
            raise last_error(f"landlock_add_rule({path})")
    finally:
        os.close(place)


def last_error(call: str) -> OSError:
    """The error of the last call into C."""
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
