"""One HTTP attempt: sent and read in a thread of its own, given up at its deadline or when the run ends.

So `timeout_s` is a deadline for the whole of it (the SDK's timeouts are per read, so a server that trickles never meets
them), and a run ends without waiting for a server. A body is read piece by piece and never beyond a limit, whatever its
status and its encoding: some versions of the transport's own decoders decode each piece as a whole, so that a few
kilobytes become gigabytes.
"""

import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of an HTTP answer that are read, and decoded; beyond them it is a bad response."""

ERROR_LIMIT = 1024 * 1024
"""The same for an HTTP error, whose first sentences are all that is wanted."""

ENCODING = "gzip"
"""The encoding that requests ask for, and the only one that is decoded."""

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """An HTTP answer: its status, headers (names in lower case) and decoded bytes. `unread` says why there are none;
    it is empty where the body was read to its end."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    unread: str = ""


def read_body(
    chunks: Iterable[bytes], *, status: int, headers: Mapping[str, str], limit: int, abandoned: Callable[[], bool]
) -> Body:
    """Read the raw `chunks` of an answer: until their end, one byte beyond the limit, or `abandoned`."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        return Body(status=status, headers=headers, unread="it is encoded in a way that was not asked for")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.endswith("gzip") else None
    content, received = bytearray(), 0
    try:
        for chunk in chunks:
            received += len(chunk)
            for piece in _decoded(decoder, chunk):
                content += piece
                if len(content) > limit:
                    break
            if max(received, len(content)) > limit:
                return Body(status=status, headers=headers, unread=f"it is larger than {limit} bytes")
            if abandoned():
                return Body(status=status, headers=headers, unread="it was given up")
    except zlib.error as cause:
        return Body(status=status, headers=headers, unread=f"it cannot be decoded: {cause}")
    return Body(status=status, headers=headers, content=bytes(content))


def _decoded(decoder: "zlib._Decompress | None", chunk: bytes) -> Iterable[bytes]:
    """A chunk as pieces of bounded size."""
    if decoder is None:
        yield chunk
        return
    piece = b"" if decoder.eof else decoder.decompress(chunk, _PIECE)  # it would keep what follows its end
    while piece:
        yield piece
        piece = decoder.decompress(decoder.unconsumed_tail, _PIECE)


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
