"""The limit on connections without the key: they are few, and each is closed soon, so that clients without the key
cannot use up the connections of the owner.
"""

import asyncio
import errno
import logging
import resource
import time
from typing import Final

_FIRST_REQUEST_S: Final = 5.0
"""The time limit of a connection for its first request with the key."""
_MOST_WAITING: Final = 64
_REPEAT_S: Final = 60.0
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE)
_LOGGERS: Final = ("asyncio", "uvicorn.error")

Client = tuple[str, int]


def most_connections() -> int:
    """The limit of open connections: half of the descriptors that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1024 if soft == resource.RLIM_INFINITY else max(soft // 2, 8)


class Door:
    """The connections that have sent no request with the key yet, the oldest first. Used by one event loop."""

    def __init__(self, *, connections: int) -> None:
        self._most = min(_MOST_WAITING, connections // 4)
        self._waiting: dict[Client, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def came(self, client: Client, transport: asyncio.Transport) -> None:
        """Note a new connection. If too many wait, the oldest is closed."""
        if len(self._waiting) >= self._most:
            self._close(next(iter(self._waiting)))
        timer = asyncio.get_running_loop().call_later(_FIRST_REQUEST_S, self._close, client)
        self._waiting[client] = transport, timer

    def left(self, client: Client) -> None:
        """Remove a connection that has sent the key or is closed."""
        if client in self._waiting:
            _, timer = self._waiting.pop(client)
            timer.cancel()

    def _close(self, client: Client) -> None:
        transport, _ = self._waiting[client]
        self.left(client)
        transport.abort()


def limit_logging() -> None:
    """Limit the server's log: one line when descriptors run out, and once a minute what any client can cause."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_OneLine())


class _OneLine(logging.Filter):
    """Drops messages that were logged within the last minute. An exception keeps its traceback, since it is a bug,
    unless descriptors ran out."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        cause = record.exc_info[1] if record.exc_info else None
        if isinstance(cause, OSError) and cause.errno in _EXHAUSTED:
            record.msg, record.args = f"no connection or file can be opened: {cause.strerror}; raise `ulimit -n`", ()
            record.exc_info = record.exc_text = None
        elif record.exc_info:
            return True
        message, now = record.getMessage(), time.monotonic()
        is_due = now - self._logged.get(message, -_REPEAT_S) >= _REPEAT_S
        if is_due:
            self._logged[message] = now
        return is_due
