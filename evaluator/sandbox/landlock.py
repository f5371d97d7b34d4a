"""Landlock by its three system calls: no right on any file, no TCP, no signal and no abstract socket to the outside.

The numbers are the same on every 64-bit architecture. What a kernel does not know yet is left out: its version says
which rights it handles. A candidate gets an empty ruleset, so that everything that is handled is denied.
"""

import ctypes
import errno
import os
import struct
from typing import Final

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))  # (version, how many rights it knows)
_NET_RIGHTS: Final = 0b11  # bind and connect TCP, from version 4
_SCOPES: Final = 0b11  # abstract sockets and signals, from version 6


def version(libc: ctypes.CDLL) -> int:
    """The version of the kernel's Landlock; 0 when it has none, or none switched on."""
    found = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    return max(0, int(found))


def restrict(libc: ctypes.CDLL, known: int) -> None:
    """Give up every right that version `known` handles, for good. Raises OSError."""
    rights = (1 << max(count for since, count in _FILE_RIGHTS if known >= since)) - 1
    attributes = struct.pack("=Q", rights)
    if known >= 4:
        attributes += struct.pack("=Q", _NET_RIGHTS)
    if known >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if ruleset < 0:
        raise _error("landlock_create_ruleset")
    try:
        if libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)) != 0:
            raise _error("landlock_restrict_self")
    finally:
        os.close(ruleset)


def _error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {errno.errorcode.get(number, number)}")
