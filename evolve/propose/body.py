"""The body of an HTTP answer, read piece by piece and never beyond a limit, whatever its status and its encoding.

The transport's own decoders are not used: some of its versions decode each piece as a whole, so that a few kilobytes
become gigabytes.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

BODY_LIMIT = 32 * 1024 * 1024
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
