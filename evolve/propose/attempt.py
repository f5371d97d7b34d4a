"""One HTTP attempt: sent and read in a thread of its own, given up at its deadline or when the run ends.

So `timeout_s` is a deadline for the whole of it (the SDK's timeouts are per read, so a server that trickles never meets
them), and a run ends without waiting for a server.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of an HTTP answer that are read; beyond them it is a bad response."""

_CANCEL_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A 200 answer: its bytes, or None when there were too many, and its headers."""

    content: bytes | None
    headers: Mapping[str, str]


class Attempt:
    """A request under way. `ask` opens its answer, whose bytes are read to the end."""

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

    def _send(self) -> None:
        try:
            with self._ask() as response:
                chunks: list[bytes] = []
                size = 0
                for chunk in response.iter_bytes():
                    size += len(chunk)
                    if self._abandoned.is_set() or size > self._limit:
                        break
                    chunks.append(chunk)
                whole = b"".join(chunks) if size <= self._limit else None
                self._outcome = Body(content=whole, headers=response.headers)
        except BaseException as cause:  # noqa: BLE001 # boundary: handed to the waiting thread, which judges or raises it
            self._outcome = cause
        finally:
            self._done.set()


def transport_errors(cause: BaseException) -> set[str]:
    """The names of the transport's classes that an exception, or what caused it, is of.

    Reading a body raises the transport's own errors, and its package depends on the SDK's version.
    """
    classes = [*type(cause).__mro__, *type(cause.__cause__).__mro__]
    return {c.__name__ for c in classes if c.__module__.partition(".")[0] in ("httpx", "httpx2")}
