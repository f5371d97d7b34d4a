"""Packs of git objects (pack version 2 and its index, version 2), written and merged here: no `git` need be installed.

A pack is there once its index is: pack and index are written beside their place and synced, then renamed, the index
last, then the folder is synced. Only after that may what they hold be removed elsewhere. So nothing is lost, whenever
the writer is killed; `sweep` removes what a killed one left.
"""

import contextlib
import hashlib
import os
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evolve.archive.deltas import Lines, delta
from evolve.archive.disk import sync_folder, write_all
from evolve.archive.plain import MAX_INDEX, read_plain
from evolve.archive.stored import Unsound, entries_of
from evolve.errors import ArchiveError

_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_OFFSET_DELTA = 6
_TEMPORARY = "tmp_evolve_"
_UNFINISHED_INDEX = ".index"
"""What an index is called until it is whole: git reads whatever ends with .idx, and complains of half a one."""
_WINDOW = 4
"""How many objects before it, of its sort, one is compared with."""
_DEEPEST = 16
"""The longest chain of deltas: reading an object makes all that it rests on."""
_LARGEST = 16 * 1024 * 1024
"""Bytes of a pack that is merged with others no more."""
_ALIKE = 4
"""So many packs of about one size become one."""
_SUM = 20
_LEAST_ENTRY = 9
"""Bytes of an object in a pack: its head, and nothing compressed."""
_MANY = 200_000
"""Objects of a pack, from which on their names are looked for in its index, and not kept."""
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseObject:
    """An object to be packed. Those of one `sort` are alike, and compared with each other."""

    name: bytes
    kind: bytes
    content: bytes
    sort: str


class PackIndex:
    """What a pack holds, read from its index (version 2)."""

    def __init__(self, path: Path) -> None:
        """Read it. Raises OSError, ValueError."""
        self.pack = path.with_suffix(".pack")
        data = read_plain(path, MAX_INDEX)
        count = int.from_bytes(data[1028:1032], "big")
        if data[:8] != b"\xfftOc\0\0\0\2" or len(data) < 1032 + 28 * count + 2 * _SUM:
            raise ValueError(f"{path} is no index of a pack")
        if count * _LEAST_ENTRY > self.pack.stat().st_size:
            raise ValueError(f"{path} names more objects than its pack can hold")
        self._data, self.count = data, count
        self.size = len(data)
        self._large = len(data) != 1032 + 28 * count + 2 * _SUM  # offsets beyond 2 GB

    @cached_property
    def names(self) -> frozenset[bytes]:
        """The ids of all objects."""
        return frozenset(self._in_order())

    def has(self, name: bytes) -> bool:
        """Whether an object is in the pack."""
        if self.count <= _MANY:
            return name in self.names
        at = bisect_left(range(self.count), name, key=self._name)
        return at < self.count and self._name(at) == name

    def _name(self, number: int) -> bytes:
        place = 1032 + _SUM * number
        return self._data[place : place + _SUM]

    def _in_order(self) -> list[bytes]:
        data = self._data
        return [data[place : place + _SUM] for place in range(1032, 1032 + _SUM * self.count, _SUM)]

    def entries(self) -> list[tuple[bytes, int, int]]:
        """The id, the checksum and the place of each object. Raises ValueError for a pack beyond 2 GB."""
        if self._large:
            raise ValueError(f"{self.pack} is too large")
        sums, places = 1032 + 20 * self.count, 1032 + 24 * self.count
        return [
            (
                name,
                int.from_bytes(self._data[sums + 4 * number : sums + 4 * number + 4], "big"),
                int.from_bytes(self._data[places + 4 * number : places + 4 * number + 4], "big"),
            )
            for number, name in enumerate(self._in_order())
        ]


class Packs:
    """The packs in the object folder of one repository."""

    def __init__(self, objects: Path) -> None:
        self._folder = objects / "pack"
        self._known: dict[str, PackIndex] = {}

    def indices(self) -> list[PackIndex]:
        """The index of every pack that is whole. Raises OSError."""
        names = os.listdir(self._folder) if self._folder.is_dir() else []  # noqa: PTH208
        found = {name for name in names if name.endswith(".idx")}
        self._known = {name: index for name, index in self._known.items() if name in found}
        for name in sorted(found - self._known.keys()):
            try:
                self._known[name] = PackIndex(self._folder / name)
            except (ValueError, FileNotFoundError):  # of another version, damaged or gone: not one to build on
                continue
            if sum(index.size for index in self._known.values()) > MAX_INDEX:
                raise ArchiveError(f"{self._folder}: the indices of its packs are larger than those of any run")
        return list(self._known.values())

    def lacking(self, names: Iterable[bytes]) -> list[bytes]:
        """Those of `names` that are in no pack, each once. Raises OSError."""
        held = self.indices()
        return [name for name in dict.fromkeys(names) if not any(index.has(name) for index in held)]

    def add(self, objects: Sequence[LooseObject]) -> None:
        """Write a pack of objects, each once, and wait until the disk has it. Raises OSError."""
        body, entries, offset = [_header(len(objects))], [], 12
        for name, data in _encoded(objects):
            entries.append((name, zlib.crc32(data), offset))
            body.append(data)
            offset += len(data)
        self._write(body, entries)

    def merge(self) -> None:
        """While there are several small packs of about one size, make one of them. Raises OSError.

        So each object is copied a few times in all, and there are as many packs as the logarithm of the objects.
        """
        while alike := self._alike():
            entries: list[tuple[bytes, int, int]] = []
            shift = 0
            for index in alike:
                entries += [(name, crc, place + shift) for name, crc, place in index.entries()]
                shift += index.pack.stat().st_size - 12 - _SUM
            self._write(_bodies(alike, len(entries)), entries)
            for index in alike:
                # The index first: without it, nobody looks for the pack.
                for suffix in (".idx", ".pack", ".rev", ".bitmap"):
                    index.pack.with_suffix(suffix).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what a killed writer of ours left. Only who holds the run's lock may do that. Raises OSError."""
        for name in os.listdir(self._folder):  # noqa: PTH208
            if name.startswith(_TEMPORARY):
                path = self._folder / name
                pack = self._folder / f"{name.removeprefix(_TEMPORARY).removesuffix(_UNFINISHED_INDEX)}.pack"
                if name.endswith(_UNFINISHED_INDEX) and not pack.with_suffix(".idx").exists():
                    pack.unlink(missing_ok=True)  # it came to its place, and its index did not
                path.unlink(missing_ok=True)

    def _alike(self) -> list[PackIndex]:
        tiers: dict[int, list[PackIndex]] = {}
        for index in self.indices():
            kept = any(index.pack.with_suffix(suffix).exists() for suffix in (".keep", ".mtimes", ".promisor"))
            if kept or index.count > _MANY or index.pack.stat().st_size > _LARGEST:
                continue
            tier = tiers.setdefault((index.count.bit_length() - 1) // 2, [])
            if all(index.names.isdisjoint(other.names) for other in tier):  # an object stands once in a pack
                tier.append(index)
        return next((found for _, found in sorted(tiers.items()) if len(found) >= _ALIKE), [])

    def _write(self, body: Iterable[bytes], entries: list[tuple[bytes, int, int]]) -> None:
        name = "pack-" + hashlib.sha1(b"".join(sorted(n for n, _, _ in entries)), usedforsecurity=False).hexdigest()
        beside = self._folder / f"{_TEMPORARY}{name}.pack"
        beside_index = beside.with_suffix(_UNFINISHED_INDEX)
        try:
            checksum = _write_summed(beside, body)
            _write_summed(beside_index, [_index(sorted(entries), checksum)])
            beside.rename(self._folder / f"{name}.pack")
            beside_index.rename(self._folder / f"{name}.idx")
        finally:
            beside_index.unlink(missing_ok=True)
            beside.unlink(missing_ok=True)
        sync_folder(self._folder)


def _write_summed(path: Path, pieces: Iterable[bytes]) -> bytes:
    """Write a file and, at its end, its SHA-1, which is returned; wait for the disk."""
    digest = hashlib.sha1(usedforsecurity=False)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    try:
        for piece in pieces:
            digest.update(piece)
            write_all(descriptor, piece)
        write_all(descriptor, digest.digest())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return digest.digest()


def _header(count: int) -> bytes:
    return b"PACK\0\0\0\2" + count.to_bytes(4, "big")


def _bodies(indices: Sequence[PackIndex], count: int) -> Iterable[bytes]:
    """What packs hold, one behind the other: an object tells how far before it its base stands, which stays so."""
    yield _header(count)
    for index in indices:
        with index.pack.open("rb") as file:
            left = index.pack.stat().st_size - 12 - _SUM
            file.seek(12)
            while left > 0:
                data = file.read(min(left, _CHUNK))
                if not data:
                    raise OSError(f"{index.pack} is shorter than it was")
                left -= len(data)
                yield data


def _index(entries: Sequence[tuple[bytes, int, int]], pack_sum: bytes) -> bytes:
    names = [name for name, _, _ in entries]
    fan = [bisect_left(names, bytes((byte + 1,))) if byte < 255 else len(names) for byte in range(256)]
    return b"".join(
        (
            b"\xfftOc\0\0\0\2",
            *(count.to_bytes(4, "big") for count in fan),
            *names,
            *(crc.to_bytes(4, "big") for _, crc, _ in entries),
            *(place.to_bytes(4, "big") for _, _, place in entries),
            pack_sum,
        )
    )


def _encoded(objects: Sequence[LooseObject]) -> Iterable[tuple[bytes, bytes]]:
    """Each object as it stands in a pack: told by another of its sort before it, or as it is, whichever is shorter."""
    window: dict[str, list[tuple[int, int, Lines]]] = {}  # its place, how deep it rests on others, and its lines
    offset = 12
    for item in objects:
        near = window.setdefault(item.sort, [])
        deltas = [(delta(lines, item.content), place, below) for place, below, lines in near if below < _DEEPEST]
        best, depth, head = b"", 0, b""
        if deltas:
            told, place, below = min(deltas, key=lambda found: len(found[0]))
            best, depth = zlib.compress(told), below + 1
            head = _head(_OFFSET_DELTA, len(told)) + _distance(offset - place)
        if not deltas or 3 * len(told) > len(item.content):  # else it is shorter, compressed or not
            whole = zlib.compress(item.content)
            if not deltas or len(whole) <= len(best):
                best, depth, head = whole, 0, _head(_KINDS[item.kind], len(item.content))
        if item.kind == b"blob" and item.content:
            near.append((offset, depth, Lines(item.content)))
            del near[:-_WINDOW]
        data = head + best
        yield item.name, data
        offset += len(data)


def _head(kind: int, length: int) -> bytes:
    byte, length = kind << 4 | length & 15, length >> 4
    found = bytearray()
    while length:
        found.append(byte | 128)
        byte, length = length & 127, length >> 7
    found.append(byte)
    return bytes(found)


def _distance(number: int) -> bytes:
    found = [number & 127]
    while number := number >> 7:
        number -= 1
        found.append(number & 127 | 128)
    return bytes(reversed(found))


def sorts(objects: Mapping[bytes, tuple[bytes, bytes]]) -> dict[bytes, str]:
    """What each blob among objects is, after the name that it has in a tree among them."""
    found: dict[bytes, str] = {}
    for kind, content in objects.values():
        if kind == b"tree":
            with contextlib.suppress(Unsound):  # somebody else's, and its blobs are of no sort
                found.update((blob, name) for name, blob in entries_of(content))
    return found
