"""Signals that end a long command: Ctrl-C, SIGTERM, and a terminal that closes."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from evaluator.signals import handle_once

_LONGEST_END_S: Final = 10
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible(ask: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP calls `ask`; a second one raises KeyboardInterrupt. The record survives both.

    Where Python cannot handle the first one (see `evaluator.signals`), the second one ends the process. An alarm
    (SIGALRM) ends it where KeyboardInterrupt has not within _LONGEST_END_S.

    A closing terminal may send SIGHUP twice, so that it never counts as the second signal; later output to it is
    dropped. An ignored SIGHUP (nohup) stays ignored.
    """
    is_asked, terminals = False, _terminals()

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_asked
        if number == signal.SIGHUP:
            _drop(terminals)
        elif is_asked:
            signal.alarm(_LONGEST_END_S)
            raise KeyboardInterrupt
        else:
            handle_once(number, stop)
        if not is_asked:
            is_asked = True
            ask()

    handled = [each for each in _ENDING if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN]
    before = {number: _set_handler(number, stop) for number in handled}
    try:
        yield
    finally:
        signal.alarm(0)
        for number, previous in before.items():
            _set_handler(number, previous)


def _set_handler(number: int, handler: Any) -> Any:
    """Set a handler, for one signal only where it is a function; SIGHUP may come twice. Returns the previous one."""
    set_handler = handle_once if callable(handler) and number != signal.SIGHUP else signal.signal
    return set_handler(number, handler)


@contextmanager
def dropped_if_gone() -> Iterator[None]:
    """Around writes to a terminal: a closed one may fail them before its SIGHUP comes, which is no error."""
    terminals = _terminals()
    try:
        yield
    except OSError as cause:
        if cause.errno != errno.EIO:
            raise
        _drop(terminals)


def _terminals() -> list[int]:
    return [number for number in (1, 2) if os.isatty(number)]


def _drop(streams: list[int]) -> None:
    """Drop later output to these file descriptors: an answer on its way is worth more than lost output."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in streams:
        os.dup2(nowhere, number)
    os.close(nowhere)
