"""The git objects of a run: written as loose ones, packed as it goes on, read in any form (`evolve.archive.stored`).

A loose object is what an event of the journal rests on. Every so many are put into a pack (`evolve.archive.packs`),
which is on the disk before they go.

How they are written was measured, for the four objects of a program (two blobs, a tree, a commit; 2 idle cores, ext4):

    GitPython's default database (a `git hash-object` per object)   1.7 ms CPU and its processes', 8.2 ms in all
    one `git fast-import` kept running                              0.1 ms CPU and its own; a process to look after,
                                                                    and nothing to be seen before a checkpoint
    GitPython's pure database (gitdb), not synced                   0.8 ms CPU
    the same, each object opened again and synced                   1.5 ms CPU, 2.4 ms in all
    the loose format written here, synced                           1.0 ms CPU, 1.6 ms in all

The loose format is chosen, and not for speed alone: gitdb leaves a file alone that is there already, so that one
torn by a power failure would stay torn; here it is replaced.
"""

import contextlib
import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evolve.archive.disk import flusher, sync_folder, using, write_all, write_file
from evolve.archive.packs import LooseObject, Packs, sorts
from evolve.archive.plain import MAX_CONFIG, open_plain, read_plain
from evolve.archive.stored import StoredPacks, Unsound, entries_of, read_loose
from evolve.errors import ArchiveError

_CONFIG = (
    "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = true\n[extensions]\n\tpreciousObjects = true\n"
)
_PRECIOUS = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpreciousObjects = true\n"
_AUTHOR = "evolve <evolve@localhost>"
_ID = re.compile(r"[0-9a-f]{40}")
_TREE = re.compile(rb"tree [0-9a-f]{40}\n")
_TEMPORARY = re.compile(r"tmp_obj_[0-9a-f]{16}")
PACKED_AT = 512
"""So many loose objects are put into a pack: those of about 60 programs."""
_AT_ONCE = 8 * 1024 * 1024
"""Bytes of loose objects that are in memory at once while they are packed. A larger one is not packed."""
_EPOCH = 1767225600  # 2026-01-01T00:00:00Z; a commit's date is this plus its generation in seconds


def create_repository(path: Path) -> None:
    """Make a bare repository: SHA-1, refs as files. Raises OSError.

    Its objects are precious (git's format 1): what a writer has not named by a ref yet looks like garbage to
    `git gc --prune=now` and `git repack -ad` beside it, and they would remove it; so they are told to remove nothing.
    Written here and not by `git init`, which takes templates, formats and names from the user's settings.
    """
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (path / folder).mkdir(parents=True)
    write_file(path / "HEAD", b"ref: refs/heads/best\n")
    write_file(path / "config", _CONFIG.encode("ascii"))
    sync_folder(path)


class Objects:
    """The objects of one repository. Texts may hold lone surrogates: they come back as they were."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self._where = repository / "objects"
        self._folder = str(self._where)  # paths of objects are text: a Path each costs more than the file
        self._spare: list[str] = []  # files of objects that are packed, to be written again (see `_pack`)
        self._packs = Packs(self._where)
        self._loose: dict[bytes, None] = {}  # what is not packed, in the order in which it was written
        self._patience = 0  # after a failure: how many loose objects there shall be before the next try
        self.trouble: str | None = None
        self.written = False  # whether any object was
        self._reading: StoredPacks | None = None
        self._flush: Callable[[int], None] | None = None
        self._unsynced: list[int] = []  # descriptors of objects that the disk may not have yet

    # -- writing ------------------------------------------------------------------------------------------------

    def blob(self, text: str) -> str:
        """Write a text. Returns its id, as all writers here do; `sync` makes it last. Raises MachineError."""
        return self._store(b"blob", text.encode("utf-8", "surrogatepass"))

    def tree(self, blobs: Mapping[str, str]) -> str:
        """Write a folder of files, given as the id of each file's blob."""
        entries = [b"100644 %s\0%s" % (name.encode("ascii"), bytes.fromhex(blobs[name])) for name in sorted(blobs)]
        return self._store(b"tree", b"".join(entries))

    def commit(self, tree: str, parents: Sequence[str], *, generation: int, message: str) -> str:
        """Write a commit. Nothing of this machine or moment enters it."""
        stamp = f"{_AUTHOR} {_EPOCH + generation} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in dict.fromkeys(parents))]
        lines += [f"author {stamp}", f"committer {stamp}", "", message]
        return self._store(b"commit", "\n".join(lines).encode("utf-8"))

    def sync(self) -> None:
        """Wait for the disk, so that the next event of the journal can name what was written. Raises MachineError."""
        with using(self._where, "written"):
            try:
                if self._flush is None:
                    self._flush = flusher(self._where)
                for descriptor in self._unsynced:
                    self._flush(descriptor)
            finally:
                self.discard()

    def discard(self) -> None:
        """Give up waiting for the objects written since the last `sync`."""
        while self._unsynced:
            os.close(self._unsynced.pop())

    def _store(self, kind: bytes, content: bytes) -> str:
        data = b"%s %d\0%s" % (kind, len(content), content)
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        folder = f"{self._folder}/{name[:2]}"
        with using(self._where, "written"):
            beside = self._spare.pop() if self._spare else f"{self._folder}/tmp_obj_{secrets.token_hex(8)}"
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            self._unsynced.append(descriptor)
            try:
                write_all(descriptor, zlib.compress(data, 1))
                try:
                    os.rename(beside, f"{folder}/{name[2:]}")  # noqa: PTH104
                except FileNotFoundError:
                    os.mkdir(folder)  # noqa: PTH102
                    os.rename(beside, f"{folder}/{name[2:]}")  # noqa: PTH104
            except OSError:
                self.discard()
                Path(beside).unlink(missing_ok=True)
                raise
        self._loose[bytes.fromhex(name)] = None
        self.written = True
        return name

    # -- packing ------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Clear away what a killed writer left, and find out what is not packed. For who holds the run's lock.

        Raises MachineError.
        """
        with using(self._where, "written"):
            for name in filter(_TEMPORARY.fullmatch, os.listdir(self._folder)):  # noqa: PTH208
                Path(self._folder, name).unlink(missing_ok=True)
            self._packs.sweep()
            found = []
            for head in (f"{byte:02x}" for byte in range(256)):
                try:
                    with os.scandir(f"{self._folder}/{head}") as entries:
                        found += [(entry.stat().st_mtime_ns, head + entry.name) for entry in entries]
                except (FileNotFoundError, NotADirectoryError):
                    continue
            self._loose = {bytes.fromhex(name): None for _, name in sorted(found) if _ID.fullmatch(name)}
            config = self.repository / "config"
            if b"preciousobjects = true" not in read_plain(config, MAX_CONFIG).lower():  # a clone's
                with os.fdopen(open_plain(config, os.O_WRONLY | os.O_APPEND), "a", encoding="ascii") as file:
                    file.write(_PRECIOUS)

    def tidy(self, least: int = PACKED_AT) -> None:
        """Put the loose objects into a pack if there are so many, and merge packs where they become many.

        Whatever happens, every object is still there; where it cannot be done, it waits, and `trouble` says why.
        """
        if len(self._loose) < max(least, self._patience):
            return
        self.discard()
        try:
            self._pack()
        except OSError as cause:
            self._patience = len(self._loose) + PACKED_AT
            self.trouble = f"{self.repository}: objects could not be packed ({cause.strerror or cause}); none is lost"
        else:
            self._patience, self.trouble = 0, None

    def _pack(self) -> None:
        read: dict[bytes, tuple[bytes, bytes]] = {}
        large, size = set[bytes](), 0
        for name in self._packs.lacking(self._loose):
            if size > _AT_ONCE:
                self._add(read)
                read, size = {}, 0
            try:
                kind, content = read_loose(self._path(name))
                if _id(kind, content) != name.hex():
                    raise Unsound("it is not what its name says")
                if len(content) > _AT_ONCE:
                    large.add(name)  # stays a file of its own
                    continue
                read[name] = kind, content
                size += len(content)
            except (OSError, ValueError):  # torn by a power failure, and named by nothing: not kept
                del self._loose[name]
        self._add(read)
        # Not removed but written again: a file system that has just removed thousands of files is slow to make others
        # (ext4 passes over the inodes that were freed in the last seconds: 43 programs/s instead of 70).
        for name in self._loose.keys() - large:
            beside = f"{self._folder}/tmp_obj_{secrets.token_hex(8)}"
            with contextlib.suppress(FileNotFoundError):
                os.rename(self._path(name), beside)  # noqa: PTH104
                self._spare.append(beside)
        self._loose = {}
        self._packs.merge()

    def _add(self, read: Mapping[bytes, tuple[bytes, bytes]]) -> None:
        if read:
            sort = sorts(read)
            self._packs.add(
                [
                    LooseObject(name=name, kind=kind, content=content, sort=sort.get(name, kind.decode()))
                    for name, (kind, content) in read.items()
                ]
            )

    def remove_empty(self) -> None:
        """Remove the files and folders of loose objects that packing has emptied."""
        while self._spare:
            with contextlib.suppress(OSError):
                os.unlink(self._spare.pop())  # noqa: PTH108
        for byte in range(256):
            with contextlib.suppress(OSError):  # it is not there, or not empty
                os.rmdir(f"{self._folder}/{byte:02x}")  # noqa: PTH106

    def _path(self, name: bytes) -> str:
        return f"{self._folder}/{name[:1].hex()}/{name[1:].hex()}"

    # -- reading ------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The text of a blob. Raises ArchiveError when it is not there."""
        try:
            return self._read(name, b"blob").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ArchiveError(f"{self.repository}: the object {name} is no text") from None

    def files(self, commit: str) -> dict[str, str]:
        """The id of each file's blob in a commit. Raises ArchiveError when an object is missing."""
        header = self._read(commit, b"commit")
        if not _TREE.match(header):
            raise ArchiveError(f"{self.repository}: the commit {commit} is damaged; restore it from a copy")
        name = header[5:45].decode("ascii")
        try:
            return {file: blob.hex() for file, blob in entries_of(self._read(name, b"tree"))}
        except Unsound as cause:
            raise self._damaged(name, str(cause)) from None

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` for which there is no object."""
        loose = self._folder
        absent = [name for name in names if not os.path.exists(f"{loose}/{name[:2]}/{name[2:]}")]  # noqa: PTH110
        if not absent:
            return []
        with using(Path(loose, "pack"), "read"):
            lacking = set(self._packs.lacking(bytes.fromhex(name) for name in absent if _ID.fullmatch(name)))
        absent = [name for name in absent if not _ID.fullmatch(name) or bytes.fromhex(name) in lacking]
        if not absent:
            return []
        try:  # an index of another version, and what was packed just now
            packs = self._stored(again=True)
            return [name for name in absent if not (_ID.fullmatch(name) and packs.has(bytes.fromhex(name)))]
        except Unsound as cause:
            raise ArchiveError(f"{self.repository}: {cause}; restore the folder from a copy") from None

    def _stored(self, *, again: bool = False) -> StoredPacks:
        if self._reading is None or again:
            with using(self._where, "read"):
                self._reading = StoredPacks(self._where / "pack")
        return self._reading

    def _found(self, name: str) -> tuple[bytes, bytes] | None:
        try:
            found = read_loose(f"{self._folder}/{name[:2]}/{name[2:]}")
            if _id(*found) == name:
                return found
        except FileNotFoundError:
            return self._packed(name)
        except Unsound:
            if (packed := self._packed(name)) is None:
                raise
            return packed
        return self._packed(name) or found  # its writer packed it, and writes that file again, just now

    def _packed(self, name: str) -> tuple[bytes, bytes] | None:
        try:
            found = self._stored().read(bytes.fromhex(name))
        except FileNotFoundError:  # its pack was merged with others
            found = None
        # It may have been packed since the packs were looked at.
        return self._stored(again=True).read(bytes.fromhex(name)) if found is None else found

    def _read(self, name: str, kind: bytes) -> bytes:
        try:
            with using(self._where, "read"):
                found = self._found(name)
        except ValueError as cause:
            raise self._damaged(name, str(cause)) from None
        if found is None:
            raise ArchiveError(f"{self.repository}: the object {name} is missing; restore it from a copy") from None
        if _id(kind, found[1]) != name:
            raise self._damaged(name, f"it is not the {kind.decode()} of that id")
        return found[1]

    def _damaged(self, name: str, why: str) -> ArchiveError:
        return ArchiveError(f"{self.repository}: the object {name} is damaged ({why}); restore it from a copy")


def _id(kind: bytes, content: bytes) -> str:
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).hexdigest()
