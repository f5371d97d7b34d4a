"""A program as a set of files: paths and texts. Most programs have one file."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from evaluator.errors import TaskError
from evaluator.places import content_of

MOST_FILES: Final = 1000
MOST_FILE_BYTES: Final = 256 << 10
MOST_BYTES: Final = 8 << 20
"""The most for a program of several files: files, bytes of one, bytes of all. One alone may have `SOURCE_LIMIT`."""
MOST_PATH: Final = 200
_MOST_NAME: Final = 255
"""Bytes of a part of a path that file systems take."""
SEVERAL: Final = "program/"
"""In the place of a file's name: programs have several files. No file can have that name."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NEVER_READ: Final = frozenset({"__pycache__"})


def path_fault(path: str) -> str:
    """Why `path` cannot name a file of a program, in words that follow "the path"; "" if it can."""
    if not path or len(path) > MOST_PATH:
        return f"must have 1 to {MOST_PATH} characters"
    if _CONTROL.search(path):
        return "must not have control characters"
    if "\\" in path:
        return "must have forward slashes"
    if path != path.strip():
        return "must not begin or end with a blank"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "must be relative, without empty parts, `.` and `..`"
    if any(len(part.encode("utf-8")) > _MOST_NAME for part in parts):
        return f"must not have a part of more than {_MOST_NAME} bytes"
    if any(part.lower() == ".git" for part in parts):
        return "must not lead into a folder .git"
    return ""


@dataclass(frozen=True, slots=True)
class Files(Mapping[str, str]):
    """The files of a program: texts by path, sorted by path. Two are equal if paths and texts are.

    Raises ValueError for a path that `path_fault` refuses, for one that is both a file and a folder, and without files.
    """

    pairs: tuple[tuple[str, str], ...]
    _texts: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        texts = dict(sorted(self.pairs))
        if not texts or len(texts) < len(self.pairs):
            raise ValueError("a program has at least one file, and each once")
        for path in texts:
            if fault := path_fault(path):
                raise ValueError(f"the path {path!r} {fault}")
            if folder := next((above for above in _folders(path) if above in texts), None):
                raise ValueError(f"{folder!r} is a file, and {path!r} is in a folder of that name")
        object.__setattr__(self, "pairs", tuple(texts.items()))
        object.__setattr__(self, "_texts", texts)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "Files":
        """The files with these texts by path. Raises ValueError."""
        return cls(tuple(texts.items()))

    @classmethod
    def single(cls, name: str, text: str) -> "Files":
        """A program of one file."""
        return cls(((name, text),))

    def __getitem__(self, path: str) -> str:
        return self._texts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def only(self) -> str:
        """The text of a program of one file. Raises TypeError for another one."""
        if len(self.pairs) != 1:
            raise TypeError(f"a program of {len(self.pairs)} files has no single text")
        return self.pairs[0][1]

    @property
    def length(self) -> int:
        """The characters of all files."""
        return sum(len(text) for _, text in self.pairs)

    @property
    def joined(self) -> str:
        """The text of a program of one file; of several each text under a line `FILE: path`."""
        if len(self.pairs) == 1:
            return self.only
        ended = ((path, text if not text or text.endswith("\n") else f"{text}\n") for path, text in self.pairs)
        return "".join(f"FILE: {path}\n{text}" for path, text in ended)

    def changed(self, texts: Mapping[str, str | None]) -> "Files":
        """These files with other texts; None removes a file. Raises ValueError."""
        merged = dict[str, str | None](self._texts) | dict(texts)
        return Files.of({path: text for path, text in merged.items() if text is not None})

    def excess(self) -> str:
        """What is too large, in words; "" if nothing is. Only programs of several files have these limits."""
        if len(self.pairs) > MOST_FILES:
            return f"{len(self.pairs)} files; a program may have at most {MOST_FILES}"
        sizes = {path: len(text.encode("utf-8", "surrogatepass")) for path, text in self.pairs}
        for path, size in sizes.items():
            if size > MOST_FILE_BYTES:
                return f"{path} has {size} bytes; a file may have at most {MOST_FILE_BYTES}"
        if (total := sum(sizes.values())) > MOST_BYTES:
            return f"the files have {total} bytes; a program may have at most {MOST_BYTES}"
        return ""

    def to_json(self) -> dict[str, str]:
        """The texts by path; `of` reads them back."""
        return dict(self.pairs)


def _folders(path: str) -> Iterator[str]:
    """The folders above a file."""
    above, _, _ = path.rpartition("/")
    while above:
        yield above
        above, _, _ = above.rpartition("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFolder:
    """The folder that a program of several files begins with. A program is its files that match `edit`; the others are
    the same for every program. `may_add`: a patch may add files that match, and delete files."""

    folder: Path
    edit: tuple[str, ...]
    may_add: bool = False

    def editable(self, path: str) -> bool:
        """Whether a file with this path belongs to a program. Hidden ones, and where a folder is, do not."""
        if any(part.startswith(".") or part in _NEVER_READ for part in path.split("/")):
            return False
        in_the_way = (self.folder / path).is_dir() or any((self.folder / above).is_file() for above in _folders(path))
        return not in_the_way and any(matches(path, pattern) for pattern in self.edit)

    def allowed(self) -> str:
        """Which files a program may have, in words."""
        return f"only files that match {', '.join(self.edit)} may"

    def read(self) -> Files:
        """The files that a program begins with. Raises TaskError."""
        texts: dict[str, str] = {}
        for path in filter(self.editable, self._paths()):
            place = self.folder / path
            if place.is_symlink():
                raise TaskError(f"{place}: is a link; let `edit` match the file itself")
            try:
                texts[path] = content_of(place).decode("utf-8")
            except UnicodeDecodeError as cause:
                raise TaskError(f"{place}: is not UTF-8 text (byte {cause.start}); let `edit` not match it") from None
        if not texts:
            raise TaskError(f"{self.folder}: no file matches `edit` ({', '.join(self.edit)})")
        try:
            files = Files.of(texts)
        except ValueError as cause:
            raise TaskError(f"{self.folder}: {cause}") from None
        if excess := files.excess():
            raise TaskError(f"{self.folder}: {excess}; let `edit` match less")
        return files

    def frozen(self) -> dict[str, bytes]:
        """The content of the files that are no part of a program. Raises TaskError."""
        return {path: content_of(self.folder / path) for path in self.frozen_paths()}

    def frozen_paths(self) -> list[str]:
        """The paths of the files that are no part of a program. Raises TaskError for a link."""
        return [path for path in self._paths() if not self.editable(path)]

    def parts(self) -> list[bytes]:
        """What decides a verdict, apart from the program's own files: the rules, and the frozen files."""
        parts = ["\n".join(self.edit).encode(), b"new files" if self.may_add else b""]
        for path, content in self.frozen().items():
            parts += [path.encode("utf-8", "surrogateescape"), content]
        return parts

    def _paths(self) -> Iterator[str]:
        """The files in the folder and below, without hidden ones and Python's caches. Raises TaskError for a link."""
        for place, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NEVER_READ)
            for name in sorted(names):
                path = Path(place, name)
                if path.is_symlink():
                    raise TaskError(f"{path}: is a link; the folder of a program must hold the files themselves")
                if not name.startswith("."):
                    yield path.relative_to(self.folder).as_posix()


def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern: `*` and `?` stay within a folder, `**` goes through any number of them."""
    return _matches(path.split("/"), pattern.split("/"))


def _matches(parts: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_matches(parts[skipped:], patterns[1:] or ["*"]) for skipped in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _matches(parts[1:], patterns[1:])
