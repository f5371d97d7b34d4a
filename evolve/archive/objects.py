"""The git objects of a run: written loose, packed as the run goes on, read through git (`evolve.archive.git`).

Events of the journal name objects, which are therefore written first. Ways to write the four objects of a program (two
blobs, a tree, a commit), measured on 2 idle cores and ext4:

    GitPython's default database (a `git hash-object` per object)   1.7 ms CPU and its processes', 8.2 ms in all
    one `git fast-import` kept running                              0.1 ms CPU and its own; a process to look after,
                                                                    and nothing to be seen before a checkpoint
    the loose format written here, synced                           1.0 ms CPU, 1.6 ms in all
"""

import contextlib
import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from evaluator.program_files import MOST_PATH
from evolve.archive.disk import (
    MAX_CONFIG,
    flusher,
    open_regular_file,
    os_errors_as_machine_errors,
    read_regular_file,
    sync_folder,
    write_all,
    write_file,
)
from evolve.archive.git import Git, Unsound
from evolve.core.errors import ArchiveError, MachineError

_CONFIG = (
    "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = true\n[extensions]\n\tpreciousObjects = true\n"
)
_PRECIOUS = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpreciousObjects = true\n"
_AUTHOR = "evolve <evolve@localhost>"
_ID = re.compile(r"[0-9a-f]{40}")
_TREE = re.compile(rb"tree [0-9a-f]{40}\n")
_TEMPORARY = re.compile(r"tmp_obj_[0-9a-f]{16}")
PACKED_AT = 512
"""Loose objects are packed at this number: those of about 90 programs."""
_LATEST = 256
"""The most objects that are remembered as just written."""
_TRIES = 5
"""How often a folder is made again that git has just removed."""
MAX_TREE = 256 * 1024
"""Bytes of a tree; those of a run have three entries, or the files of a program."""
_FOLDER = b"40000"
NO_FOLDERS: Mapping[str, str] = MappingProxyType({})
_EPOCH = 1767225600  # 2026-01-01T00:00:00Z; a commit's date is this plus its generation in seconds


def create_repository(path: Path) -> None:
    """Make a bare repository: SHA-1, refs as files. Raises OSError.

    Its objects are precious (git's format 1), so that `git gc --prune=now` and `git repack -ad` remove nothing: objects
    that no ref names yet look like garbage to them. `git init` is not used, since it takes templates, formats and names
    from the user's settings.
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
        self._folder = str(self._where)  # paths of objects are text: a Path costs more than the file
        self._git = Git(self._where)
        self._loose = 0  # how many objects are not packed
        self._being_packed = 0  # how many of them are
        self._patience = 0  # after a failure: how many loose objects the next try waits for
        self._looked_for_torn = False  # since the last packing that succeeded
        self.trouble: str | None = None
        self.written = False  # whether any object was
        self._flush: Callable[[int], None] | None = None
        self._unsynced: list[int] = []  # descriptors of objects that the disk may not have yet
        self._latest: set[str] = set()  # objects written a moment ago: a patch is often the answer that it came from

    # -- writing ------------------------------------------------------------------------------------------------

    def blob(self, text: str) -> str:
        """Write a text; `sync` makes it durable. Returns its id, as all writers here do. Raises MachineError."""
        return self.store(b"blob", text.encode("utf-8", "surrogatepass"))

    def tree(self, blobs: Mapping[str, str], folders: Mapping[str, str] = NO_FOLDERS) -> str:
        """Write a folder of files, given by the ids of their blobs and of the trees of `folders` in it."""
        return self.store(b"tree", tree_object(blobs, folders))

    def folder(self, texts: Mapping[str, str], *, present: Collection[str] = ()) -> str:
        """Write texts by path, with the folders that they are in. Those in `present` (ids) are there already."""
        blobs, inner = dict[str, str](), dict[str, dict[str, str]]()
        for path, text in texts.items():
            name, slash, rest = path.partition("/")
            if slash:
                inner.setdefault(name, {})[rest] = text
                continue
            content = text.encode("utf-8", "surrogatepass")
            blob = name_of(b"blob", content)
            blobs[name] = blob if blob in present else self.store(b"blob", content)
        folders = {name: self.folder(below, present=present) for name, below in inner.items()}
        return self.store(b"tree", tree_object(blobs, folders))

    def commit(self, tree: str, parents: Sequence[str], *, generation: int, message: str) -> str:
        """Write a commit. Nothing of this machine or moment enters it."""
        return self.store(b"commit", commit_object(tree, parents, generation=generation, message=message))

    def sync(self) -> None:
        """Wait for the disk, so that the next event of the journal can name what was written. Raises MachineError."""
        with os_errors_as_machine_errors(self._where, "written"):
            try:
                if self._flush is None:
                    self._flush = flusher(self._where)
                for descriptor in self._unsynced:
                    self._flush(descriptor)
            except OSError:
                self._latest.clear()
                raise
            finally:
                self._close_unsynced()

    def discard(self) -> None:
        """Give up waiting for the objects written since the last `sync`."""
        self._latest.clear()
        self._close_unsynced()

    def _close_unsynced(self) -> None:
        while self._unsynced:
            os.close(self._unsynced.pop())

    def store(self, kind: bytes, content: bytes) -> str:
        """Write an object of a kind."""
        data = _with_header(kind, content)
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        if name in self._latest:
            return name
        folder = f"{self._folder}/{name[:2]}"
        with os_errors_as_machine_errors(self._where, "written"):
            temporary = f"{self._folder}/tmp_obj_{secrets.token_hex(8)}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            self._unsynced.append(descriptor)
            try:
                write_all(descriptor, zlib.compress(data, 1))
                _put(temporary, folder, name[2:])
            except OSError:
                self.discard()
                Path(temporary).unlink(missing_ok=True)
                raise
        self._loose += 1
        self.written = True
        if len(self._latest) >= _LATEST:
            self._latest.clear()
        self._latest.add(name)
        return name

    # -- packing ------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Remove what a killed writer left, and count the loose objects; needs the run's lock. Raises MachineError."""
        with os_errors_as_machine_errors(self._where, "written"):
            for name in filter(_TEMPORARY.fullmatch, os.listdir(self._folder)):  # noqa: PTH208
                Path(self._folder, name).unlink(missing_ok=True)
            self._git.sweep()
            self._loose = 0
            for head in (f"{byte:02x}" for byte in range(256)):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._loose += len(os.listdir(f"{self._folder}/{head}"))  # noqa: PTH208
            config = self.repository / "config"
            if b"preciousobjects = true" not in read_regular_file(config, MAX_CONFIG).lower():  # a clone's
                with os.fdopen(open_regular_file(config, os.O_WRONLY | os.O_APPEND), "a", encoding="ascii") as file:
                    file.write(_PRECIOUS)

    def tidy(self, least: int = PACKED_AT) -> None:
        """Begin to pack the loose objects if there are at least `least`, and to merge packs where there are many. It is
        done while the run goes on.

        No object is ever lost. Where packing fails, it is tried again later, and `trouble` says why.
        """
        if not self._is_packing() and self._loose >= max(least, self._patience):
            self._begin_packing()

    def pack(self) -> None:
        """Pack all loose objects, as `tidy` does, and wait until it is done."""
        self._is_packing(wait=True)
        if self._loose:
            self._begin_packing()
            self._is_packing(wait=True)

    def _begin_packing(self) -> None:
        self.discard()
        try:
            self._git.begin_packing()
        except MachineError as cause:
            self._packing_failed(cause)
        else:
            self._being_packed = self._loose

    def _is_packing(self, *, wait: bool = False) -> bool:
        """Whether objects are being packed. If that has just ended: what follows from it."""
        try:
            if self._git.is_packing(wait=wait):
                return True
        except MachineError as cause:
            self._being_packed = 0
            self._packing_failed(cause)
            return self._is_packing(wait=wait)
        if self._being_packed:
            self._loose, self._being_packed, self._patience, self.trouble = self._loose - self._being_packed, 0, 0, None
            self._looked_for_torn = False
        return False

    def _packing_failed(self, cause: Exception) -> None:
        """Try once more without the objects that a power failure tore, and then again when there are many more."""
        if not self._looked_for_torn:
            self._looked_for_torn = True
            try:
                self._set_torn_aside()
            except OSError as another:
                cause = another
            else:
                self._begin_packing()
                return
        self._looked_for_torn = False
        self._patience = self._loose + PACKED_AT
        self.trouble = f"{self.repository}: objects could not be packed ({cause}); none is lost"

    def _set_torn_aside(self) -> None:
        """Rename loose objects that a power failure tore. No event names them; they stop git from packing."""
        for path in self._where.glob("[0-9a-f][0-9a-f]/*"):
            try:
                data = zlib.decompress(path.read_bytes())
            except zlib.error:
                data = b""
            if hashlib.sha1(data, usedforsecurity=False).hexdigest() != path.parent.name + path.name:
                path.rename(path.with_name(f"{path.name}.torn"))

    # -- reading ------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The text of a blob. Raises ArchiveError when it is not there."""
        try:
            return self._read(name, b"blob").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ArchiveError(f"{self.repository}: the object {name} is not text") from None

    def files(self, commit: str) -> dict[str, str]:
        """The id of each file's blob in a commit. Raises ArchiveError when an object is missing."""
        header = self._read(commit, b"commit")
        if not _TREE.match(header):
            raise ArchiveError(f"{self.repository}: the commit {commit} is damaged; restore it from a copy")
        name = header[5:45].decode("ascii")
        return {entry: child for entry, child, _ in self._entries(name)}

    def files_below(self, tree: str, *, most: int) -> dict[str, str]:
        """The id of each file's blob in a folder and below, by path. Raises ArchiveError where an object is missing,
        or there are more files than `most`, more folders than twice that, or a path that is too long."""
        blobs, waiting, folders = dict[str, str](), [("", tree)], 0
        while waiting:
            above, name = waiting.pop()
            folders += 1
            for entry, child, is_folder in self._entries(name):
                path = f"{above}{entry}"
                if is_folder:
                    waiting.append((f"{path}/", child))
                else:
                    blobs[path] = child
                if len(path) > MOST_PATH:
                    raise self._damaged(tree, f"it has a path of more than {MOST_PATH} characters")
            if len(blobs) > most or folders + len(waiting) > 2 * most:
                raise self._damaged(tree, f"it has more than {most} files or {2 * most} folders")
        return blobs

    def _entries(self, name: str) -> list[tuple[str, str, bool]]:
        try:
            return list(entries_of(self._read(name, b"tree")))
        except Unsound as cause:
            raise self._damaged(name, str(cause)) from None

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` for which there is no object."""
        not_loose = [name for name in names if not os.path.exists(self._loose_path(name))]  # noqa: PTH110
        ids = list(filter(_ID.fullmatch, not_loose))
        missing = set(self._git.missing(ids)) if ids else set[str]()
        return [name for name in not_loose if name in missing or not _ID.fullmatch(name)]

    def _loose_path(self, name: str) -> str:
        return f"{self._folder}/{name[:2]}/{name[2:]}"

    def close(self) -> None:
        """End the git process that reads."""
        self._git.close()

    def _read(self, name: str, kind: bytes) -> bytes:
        try:
            answer = self._git.read(name) if _ID.fullmatch(name) else None
        except Unsound as cause:
            raise self._damaged(name, str(cause)) from None
        if answer is None and os.path.exists(self._loose_path(name)):  # noqa: PTH110
            raise self._damaged(name, "git cannot read it")
        if answer is None:
            raise ArchiveError(f"{self.repository}: the object {name} is missing; restore it from a copy")
        content = answer[1]
        if name_of(kind, content) != name:
            raise self._damaged(name, f"it is not the {kind.decode()} of that id")
        return content

    def _damaged(self, name: str, why: str) -> ArchiveError:
        return ArchiveError(f"{self.repository}: the object {name} is damaged ({why}); restore it from a copy")


def entries_of(tree: bytes) -> Iterator[tuple[str, str, bool]]:
    """The name and the id of each entry of a tree, and whether it is a folder. Raises Unsound for a tree that is cut
    off, or too large for a run."""
    if len(tree) > MAX_TREE:
        raise Unsound(f"it is a tree of more than {MAX_TREE} bytes, larger than any of a run")
    at = 0
    while at < len(tree):
        null = tree.find(b"\0", at)
        if null < 0 or null + 21 > len(tree):
            raise Unsound("it is a tree that is cut off")
        mode, _, entry = tree[at:null].partition(b" ")
        yield entry.decode("utf-8", "replace"), tree[null + 1 : null + 21].hex(), mode == _FOLDER
        at = null + 21


def _put(temporary: str, folder: str, name: str) -> None:
    """Move a file into a folder, which git removes while it packs if it is empty. Raises OSError."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            os.rename(temporary, f"{folder}/{name}")  # noqa: PTH104
            return
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    os.rename(temporary, f"{folder}/{name}")  # noqa: PTH104


def tree_object(blobs: Mapping[str, str], folders: Mapping[str, str] = NO_FOLDERS) -> bytes:
    """The content of a folder of files, given by the ids of their blobs and of the trees of `folders` in it."""
    entries = [(name.encode("utf-8"), b"100644", blob) for name, blob in blobs.items()]
    entries += [(name.encode("utf-8") + b"/", _FOLDER, tree) for name, tree in folders.items()]  # git's order
    return b"".join(
        b"%s %s\0%s" % (mode, name.removesuffix(b"/"), bytes.fromhex(child)) for name, mode, child in sorted(entries)
    )


def commit_object(tree: str, parents: Sequence[str], *, generation: int, message: str) -> bytes:
    """The content of a commit."""
    stamp = f"{_AUTHOR} {_EPOCH + generation} +0000"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in dict.fromkeys(parents))]
    lines += [f"author {stamp}", f"committer {stamp}", "", message]
    return "\n".join(lines).encode("utf-8")


def name_of(kind: bytes, content: bytes) -> str:
    """The id of an object."""
    return hashlib.sha1(_with_header(kind, content), usedforsecurity=False).hexdigest()


def _with_header(kind: bytes, content: bytes) -> bytes:
    """An object as git hashes and stores it."""
    return b"%s %d\0%s" % (kind, len(content), content)
