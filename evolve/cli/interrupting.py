"""How a person, or the machine, ends a command that works for long: Ctrl-C, SIGTERM, and a terminal that goes."""

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
    """The first Ctrl-C, SIGTERM or SIGHUP asks for an end; a second one ends at once, by KeyboardInterrupt. What is on
    record survives both.

    Where Python cannot hear the first one (see `evaluator.signals`), the second one ends the process. What
    KeyboardInterrupt does not end within _LONGEST_END_S an alarm (SIGALRM) does.

    A terminal that goes may say so twice, so that a SIGHUP is never the second one; what is written to it from then on
    is dropped. One that is ignored (nohup) stays so.
    """
    came, terminals = False, _terminals()

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if number == signal.SIGHUP:
            _drop(terminals)
        elif came:
            signal.alarm(_LONGEST_END_S)
            raise KeyboardInterrupt
        else:
            handle_once(number, stop)
        if not came:
            came = True
            ask()

    heard = [one for one in _ENDING if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]
    before = {number: _handled(number, stop) for number in heard}
    try:
        yield
    finally:
        signal.alarm(0)
        for number, previous in before.items():
            _handled(number, previous)


def _handled(number: int, handler: Any) -> Any:
    """Set a handler, once where it is one of Python's; a terminal that goes may say so twice. The one before."""
    set_handler = handle_once if callable(handler) and number != signal.SIGHUP else signal.signal
    return set_handler(number, handler)


@contextmanager
def dropped_if_gone() -> Iterator[None]:
    """What is written to a terminal within; one that is gone may fail it before its SIGHUP comes, which is no error."""
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
    """Let what is written to these file descriptors go nowhere: an answer on its way is worth more than the words that
    could not be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in streams:
        os.dup2(nowhere, number)
    os.close(nowhere)
