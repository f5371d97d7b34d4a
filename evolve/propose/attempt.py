"""One HTTP attempt: sent and read in a thread of its own, given up at its deadline or when the run ends.

So `timeout_s` is a deadline for the whole of it (the SDK's timeouts are per read, so a server that trickles never meets
them), and a run ends without waiting for a server.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal

from evolve.propose.body import ERROR_LIMIT, Body, read_body

_CANCEL_POLL_S = 0.05


class ErrorAnswer(Exception):
    """Raised in place of an HTTP answer that is no success: a redirect, which nobody follows, or an error."""

    def __init__(self, body: Body) -> None:
        super().__init__(f"HTTP {body.status}")
        self.body = body


def raise_for_error(response: Any) -> None:
    """The transport calls this with each answer, before anybody else reads it or follows where it points; what is
    raised closes the answer. So the SDK reads no error's body, which it would do to its end. Raises ErrorAnswer."""
    if not 200 <= response.status_code < 300:
        raise ErrorAnswer(_UNDER_WAY.get().read(response, ERROR_LIMIT))


class Attempt:
    """A request under way. `ask` opens its answer, whose bytes are read to the end, or to the `limit`."""

    def __init__(self, ask: Callable[[], AbstractContextManager[Any]], *, limit: int) -> None:
        self._ask = ask
        self._limit = limit
        self._done = threading.Event()
        self._abandoned = threading.Event()
        self._outcome: Body | BaseException | None = None
        threading.Thread(target=self._send, name="llm", daemon=True).start()

    def outcome(
        self, *, deadline: float, stopping: threading.Event
    ) -> Body | BaseException | Literal["cancelled", "timeout"]:
        """Wait for the answer, or for what was raised in its place; at the `deadline` (of time.monotonic) and when the
        run ends the request is abandoned."""
        while not self._done.wait(min(_CANCEL_POLL_S, max(0.0, deadline - time.monotonic()))):
            if stopping.is_set():
                self._abandoned.set()
                return "cancelled"
            if time.monotonic() >= deadline:
                self._abandoned.set()
                return "timeout"
        assert self._outcome is not None
        return self._outcome

    def read(self, response: Any, limit: int) -> Body:
        """The body of an answer; one of a request that was abandoned is left at its next piece, and so is closed."""
        return read_body(
            response.iter_raw(),
            status=response.status_code,
            headers=dict(response.headers),
            limit=limit,
            abandoned=self._abandoned.is_set,
        )

    def _send(self) -> None:
        _UNDER_WAY.set(self)  # a new thread has a context of its own
        try:
            with self._ask() as opened:
                self._outcome = self.read(opened.http_response, self._limit)
        except BaseException as cause:  # noqa: BLE001 # boundary: handed to the waiting thread, which judges or raises it
            self._outcome = cause
        finally:
            self._done.set()


_UNDER_WAY: ContextVar[Attempt] = ContextVar("attempt")


def transport_errors(cause: BaseException) -> set[str]:
    """The names of the transport's classes that an exception, or what caused it, is of.

    Reading a body raises the transport's own errors, and its package depends on the SDK's version.
    """
    classes = [*type(cause).__mro__, *type(cause.__cause__).__mro__]
    return {c.__name__ for c in classes if c.__module__.partition(".")[0] in ("httpx", "httpx2")}
