"""Signal handlers that work once: the next signal of that kind has its default effect, whatever Python does.

Python runs handlers between two steps of its own code. A call into C that does not return, such as a regular expression
search in another thread, delays them for ever. The kernel's default effect does not wait.
"""

import ctypes
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], object]

_RESETHAND: Final = 0x80000000


class _SigAction(ctypes.Structure):
    """`struct sigaction` of Linux's C libraries, on 64-bit machines."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_uint),
        ("restorer", ctypes.c_void_p),
    )


def name_of(number: int) -> str:
    """The name of a signal (`SIGTERM`), or its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def handle_once(number: int, handler: Handler) -> Any:
    """Handle the next signal of this number; the one after it ends the process, unless a handler was set again. Returns
    the previous handler. On systems other than Linux the handler stays. Only in the main thread."""
    before = signal.signal(number, handler)
    if sys.platform == "linux":
        libc, action = ctypes.CDLL(None, use_errno=True), _SigAction()
        if libc.sigaction(number, None, ctypes.byref(action)) == 0:
            action.flags |= _RESETHAND
            libc.sigaction(number, ctypes.byref(action), None)
    return before
