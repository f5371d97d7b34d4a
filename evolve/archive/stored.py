"""Objects of a git repository that may be somebody else's: read with every size bounded, whatever a file says.

GitPython's database maps what it is given and believes the sizes: 1.5 MB can become 3 GB, a link or a pipe is opened, a
delta that is its own base never ends, and a list of alternates leads anywhere. So its indices alone are used here.
"""

import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evolve.archive.plain import open_plain

if TYPE_CHECKING:
    from gitdb.pack import PackIndexFile

MAX_OBJECT: Final = 16 * 1024 * 1024
"""Bytes of an object. An answer has at most a million characters, a program 64 KB."""
MAX_TREE: Final = 64 * 1024
"""Bytes of a tree; those of a run have three entries."""
MAX_PIECES: Final = 500_000
"""Pieces that a delta is made of."""
MAX_CHAIN: Final = 100
"""Deltas upon deltas; git makes at most 50."""

_KINDS: Final = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFS_DELTA, _REF_DELTA = 6, 7


class Unsound(ValueError):
    """Raised for an object that is damaged, or larger than any of ours."""


def entries_of(tree: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and the id of each entry of a tree. Raises Unsound for a tree that is cut off, or none of a run's."""
    if len(tree) > MAX_TREE:
        raise Unsound(f"it is a tree of more than {MAX_TREE} bytes, and none of a run is")
    at = 0
    while at < len(tree):
        null = tree.find(b"\0", at)
        if null < 0 or null + 21 > len(tree):
            raise Unsound("it is a tree that is cut off")
        yield tree[at:null].partition(b" ")[2].decode("utf-8", "replace"), tree[null + 1 : null + 21]
        at = null + 21


def read_loose(path: str) -> tuple[bytes, bytes]:
    """Kind and content of a loose object. Raises FileNotFoundError, OSError, ArchiveError, Unsound."""
    with os.fdopen(open_plain(path), "rb") as file:
        data = file.read(MAX_OBJECT + 1)
    if len(data) > MAX_OBJECT:
        raise Unsound(_TOO_LARGE)
    head, null, content = _inflated(data, MAX_OBJECT + 32).partition(b"\0")
    kind, _, size = head.partition(b" ")
    if not null or size != b"%d" % len(content):
        raise Unsound("its size is not what it says")
    return kind, content


class StoredPacks:
    """The packs of one repository, as they were when it was made."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the one of the packs. Raises OSError."""
        self._packs: list[tuple[Path, PackIndexFile]] = []
        self._maps: dict[Path, mmap.mmap] = {}
        names = sorted(os.listdir(folder)) if folder.is_dir() else []  # noqa: PTH208
        for name in names:
            if name.startswith("pack-") and name.endswith(".idx"):
                self._packs.append((folder / f"{name[:-4]}.pack", _index(folder / name)))

    def has(self, name: bytes) -> bool:
        """Whether an object is in one of them. Raises Unsound."""
        return self._place(name) is not None

    def read(self, name: bytes) -> tuple[bytes, bytes] | None:
        """Kind and content of an object; None when it is in none of them. Raises OSError, ArchiveError, Unsound."""
        place = self._place(name)
        return None if place is None else self._chain(*place)

    def _place(self, name: bytes) -> tuple[Path, int] | None:
        for path, index in self._packs:
            try:
                found = index.sha_to_index(name)
                if found is not None:
                    return path, index.offset(found)
            except Exception as cause:  # noqa: BLE001 - boundary: gitdb reads an index that says what it likes
                raise Unsound(f"the index of {path.name} is damaged ({type(cause).__name__})") from None
        return None

    def _data(self, path: Path) -> mmap.mmap:
        if path not in self._maps:
            descriptor = open_plain(path)
            try:
                self._maps[path] = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(descriptor)
        return self._maps[path]

    def _chain(self, path: Path, offset: int) -> tuple[bytes, bytes]:
        """The object at a place of a pack: what is there, or its base with the deltas upon it applied."""
        deltas: list[bytes] = []
        total = 0
        while True:
            data = self._data(path)
            try:
                kind, size, at = _entry_head(data, offset)
                if kind == _OFS_DELTA:
                    back, at = _offset(data, at)
                    following = (path, offset - back)
                elif kind == _REF_DELTA:
                    base, at = self._place(data[at : at + 20]), at + 20
                    if base is None:
                        raise Unsound("it is a delta upon what is not there")
                    following = base
            except IndexError:
                raise Unsound("it is cut off") from None
            total += size
            if total > MAX_OBJECT:
                raise Unsound(_TOO_LARGE)
            content = _inflated(data[at : at + size + size // 100 + 1024], size)
            if len(content) != size:
                raise Unsound("its size is not what it says")
            if kind in _KINDS:
                break
            if kind not in (_OFS_DELTA, _REF_DELTA) or len(deltas) >= MAX_CHAIN or following[1] < 0:
                raise Unsound(f"it is no object, or more than {MAX_CHAIN} deltas upon each other")
            deltas.append(content)
            path, offset = following
        for delta in reversed(deltas):
            content = _patched(content, delta)
        return _KINDS[kind], content


def _index(path: Path) -> "PackIndexFile":
    from gitdb.pack import PackIndexFile  # 11 ms, and only where there is a pack

    return PackIndexFile(str(path))


_TOO_LARGE = f"it is larger than {MAX_OBJECT} bytes, and no object of a run is"


def _inflated(data: bytes, most: int) -> bytes:
    """What a zlib stream holds. Raises Unsound when it is more than `most` bytes: it is stopped there."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(data, most + 1)
    except zlib.error as cause:
        raise Unsound(str(cause)) from None
    if len(content) > most:
        raise Unsound(_TOO_LARGE if most >= MAX_OBJECT else "its size is not what it says")
    return content


def _entry_head(data: mmap.mmap, offset: int) -> tuple[int, int, int]:
    """Kind and size of the entry at an offset, and where what follows begins."""
    byte = data[offset]
    kind, size, shift, at = byte >> 4 & 7, byte & 15, 4, offset + 1
    while byte & 0x80:
        byte = data[at]
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if shift > 64:
            raise Unsound(_TOO_LARGE)
    return kind, size, at


def _offset(data: mmap.mmap, at: int) -> tuple[int, int]:
    """How far back the base of a delta lies, and where its content begins."""
    byte = data[at]
    back, at = byte & 0x7F, at + 1
    while byte & 0x80:
        byte = data[at]
        back, at = (back + 1 << 7) | (byte & 0x7F), at + 1
        if back > 2**63:
            raise Unsound("its base is nowhere")
    if back == 0:
        raise Unsound("it is a delta upon itself")
    return back, at


def _patched(base: bytes, delta: bytes) -> bytes:
    """`base` with a delta applied. Raises Unsound for one that does not fit, or would make too much."""
    try:
        length, at = _length(delta, 0)
        wanted, at = _length(delta, at)
        if length != len(base) or wanted > MAX_OBJECT:
            raise Unsound(_TOO_LARGE if wanted > MAX_OBJECT else "its delta is of another base")
        made, pieces = bytearray(), 0
        while at < len(delta) and len(made) <= wanted:
            order, at, pieces = delta[at], at + 1, pieces + 1
            if order == 0 or pieces > MAX_PIECES:
                raise Unsound("its delta has an order that is none, or too many of them")
            if order & 0x80:
                numbers = [0, 0]
                for bit in range(7):
                    if order & 1 << bit:
                        numbers[bit // 4] |= delta[at] << 8 * (bit % 4)
                        at += 1
                start, size = numbers[0], numbers[1] or 0x10000
                if start + size > len(base):
                    raise Unsound("its delta is of another base")
                made += base[start : start + size]
            else:
                made += delta[at : at + order]
                at += order
    except IndexError:
        raise Unsound("its delta is cut off") from None
    if len(made) != wanted:
        raise Unsound("its delta does not give what it says")
    return bytes(made)


def _length(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = delta[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80 or shift > 63:
            return value, at
