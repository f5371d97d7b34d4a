"""Who waits at the door of the pages: connections that have not asked with the key yet. They are few, and none of them
stays; so nobody without the key takes the connections that its owner needs.
"""

import asyncio
import errno
import logging
import resource
import time
from typing import Final

_FIRST_REQUEST_S: Final = 5.0
"""So long a connection may take for its first request with the key."""
_MOST_WAITING: Final = 64
_SAID_AGAIN_S: Final = 60.0
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE)
_LOGGERS: Final = ("asyncio", "uvicorn.error")

Client = tuple[str, int]


def most_connections() -> int:
    """How many connections are served at once: half of the descriptors that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1024 if soft == resource.RLIM_INFINITY else max(soft // 2, 8)


class Door:
    """The connections without a request that had the key, the oldest first. Of one event loop."""

    def __init__(self, *, connections: int) -> None:
        self._most = min(_MOST_WAITING, connections // 4)
        self._waiting: dict[Client, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def came(self, client: Client, transport: asyncio.Transport) -> None:
        """A connection was accepted. Where too many wait, the oldest is closed."""
        if len(self._waiting) >= self._most:
            self._close(next(iter(self._waiting)))
        timer = asyncio.get_running_loop().call_later(_FIRST_REQUEST_S, self._close, client)
        self._waiting[client] = transport, timer

    def left(self, client: Client) -> None:
        """A connection waits no longer: it asked with the key, or is closed."""
        if client in self._waiting:
            _, timer = self._waiting.pop(client)
            timer.cancel()

    def _close(self, client: Client) -> None:
        transport, _ = self._waiting[client]
        self.left(client)
        transport.abort()


def say_in_one_line() -> None:
    """Have the server log that no descriptor is left in one line, and what anybody can cause once a minute."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_OneLine())


class _OneLine(logging.Filter):
    """Lets pass what was not logged within the last minute. An exception keeps its traceback, since it is a bug; but
    not that no descriptor is left."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        cause = record.exc_info[1] if record.exc_info else None
        if isinstance(cause, OSError) and cause.errno in _EXHAUSTED:
            record.msg, record.args = f"no connection or file can be opened: {cause.strerror}; raise `ulimit -n`", ()
            record.exc_info = record.exc_text = None
        elif record.exc_info:
            return True
        said, now = record.getMessage(), time.monotonic()
        again = now - self._said.get(said, -_SAID_AGAIN_S) >= _SAID_AGAIN_S
        if again:
            self._said[said] = now
        return again
