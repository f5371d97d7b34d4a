"""The git objects of a run: written as loose objects, read packed or not (`evolve.archive.stored`).

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

import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evolve.archive.disk import flusher, sync_folder, using, write_all, write_file
from evolve.archive.stored import Packs, Unsound, read_loose
from evolve.errors import ArchiveError

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_AUTHOR = "evolve <evolve@localhost>"
_TREE = re.compile(rb"tree [0-9a-f]{40}\n")
_EPOCH = 1767225600  # 2026-01-01T00:00:00Z; a commit's date is this plus its generation in seconds


def create_repository(path: Path) -> None:
    """Make a bare repository, in git's format 0: SHA-1, refs as files. Raises OSError.

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
        self._repository = repository
        self._folder = str(repository / "objects")
        self._temporary = f"{self._folder}/tmp_obj_{secrets.token_hex(8)}"  # git removes what is left under such names
        self._packs: Packs | None = None
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
        with using(Path(self._folder), "written"):
            try:
                if self._flush is None:
                    self._flush = flusher(Path(self._folder))
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
        with using(Path(self._folder), "written"):
            descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444)
            self._unsynced.append(descriptor)
            try:
                write_all(descriptor, zlib.compress(data, 1))
                try:
                    os.rename(self._temporary, f"{folder}/{name[2:]}")  # noqa: PTH104
                except FileNotFoundError:
                    os.mkdir(folder)  # noqa: PTH102
                    os.rename(self._temporary, f"{folder}/{name[2:]}")  # noqa: PTH104
            except OSError:
                self.discard()
                Path(self._temporary).unlink(missing_ok=True)
                raise
        return name

    # -- reading ------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The text of a blob. Raises ArchiveError when it is not there."""
        try:
            return self._read(name, b"blob").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ArchiveError(f"{self._repository}: the object {name} is no text") from None

    def files(self, commit: str) -> dict[str, str]:
        """The id of each file's blob in a commit. Raises ArchiveError when an object is missing."""
        header = self._read(commit, b"commit")
        if not _TREE.match(header):
            raise ArchiveError(f"{self._repository}: the commit {commit} is damaged; restore it from a copy")
        tree = self._read(header[5:45].decode("ascii"), b"tree")
        found = {}
        while tree:
            entry, _, rest = tree.partition(b"\0")
            found[entry.partition(b" ")[2].decode("utf-8", "replace")] = rest[:20].hex()
            tree = rest[20:]
        return found

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` for which there is no object."""
        loose = self._folder
        absent = [name for name in names if not os.path.exists(f"{loose}/{name[:2]}/{name[2:]}")]  # noqa: PTH110
        try:
            return [name for name in absent if not self._open().has(bytes.fromhex(name))]
        except Unsound as cause:
            raise ArchiveError(f"{self._repository}: {cause}; restore the folder from a copy") from None

    def _open(self, *, again: bool = False) -> Packs:
        if self._packs is None or again:
            with using(Path(self._folder), "read"):
                self._packs = Packs(Path(self._folder) / "pack")
        return self._packs

    def _read(self, name: str, kind: bytes) -> bytes:
        found: tuple[bytes, bytes] | None
        try:
            with using(Path(self._folder), "read"):
                try:
                    found = read_loose(f"{self._folder}/{name[:2]}/{name[2:]}")
                except FileNotFoundError:
                    found = self._open().read(bytes.fromhex(name))
                    if found is None:  # `git gc` may have packed it since they were looked at
                        found = self._open(again=True).read(bytes.fromhex(name))
        except ValueError as cause:
            raise ArchiveError(
                f"{self._repository}: the object {name} is damaged ({cause}); restore it from a copy"
            ) from None
        if found is None:
            raise ArchiveError(f"{self._repository}: the object {name} is missing; restore it from a copy") from None
        content = found[1]
        if hashlib.sha1(b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).hexdigest() != name:
            raise ArchiveError(
                f"{self._repository}: the object {name} is damaged (it is not the {kind.decode()} of that id); "
                "restore it from a copy"
            )
        return content
