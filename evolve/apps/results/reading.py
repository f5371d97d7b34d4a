"""Reads the files of a folder that anybody may have made: no link is followed, no pipe is waited for, no size trusted.

What cannot be read becomes a note, and reading goes on.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.archive.disk import read_regular_file
from evolve.core.errors import ArchiveError, InputError, ProgramError
from evolve.core.program import check_size

MAX_ENTRIES: Final = 50_000
"""Names in one folder."""
MAX_PROGRAMS: Final = 20_000
"""Programs of a result folder."""
MAX_SOURCE: Final = 1024 * 1024
"""Bytes of a program's file that are read; what is too large for a program is refused later, with its size."""
MAX_DOCUMENT: Final = 16 * 1024 * 1024
"""Bytes of a JSON document, an answer or a report."""
MAX_TOTAL: Final = 1024 * 1024 * 1024
"""Bytes that are read of a folder in all."""
MAX_NOTES: Final = 20_000
"""Notes that are kept of a folder."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class FolderReader:
    """Reads one folder, and collects `notes` about what it could not read."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError unless it is a folder that can be listed."""
        self.folder = folder
        self.notes: list[str] = []
        self._noted: set[str] = set()
        self._left = MAX_TOTAL
        self._digests: dict[str, bytes] = {}
        if not folder.is_dir():
            raise InputError(f"{one_line(str(folder))}: is not a folder; name a folder of results")
        self._kinds(folder)

    def note(self, sentence: str) -> None:
        """Keep a sentence for people, once; one more says that there are more than MAX_NOTES."""
        line = one_line(sentence, 400)
        if line in self._noted:
            return
        self._noted.add(line)
        if len(self.notes) < MAX_NOTES:
            self.notes.append(line)
        elif len(self.notes) == MAX_NOTES:
            self.notes.append("further notes were left out")

    def folders(self, folder: Path) -> list[str]:
        """The names of the folders in a folder, sorted; links are none."""
        return self._named(folder, stat.S_ISDIR)

    def files(self, folder: Path) -> list[str]:
        """The names of the regular files in a folder, sorted; links are none."""
        return self._named(folder, stat.S_ISREG)

    def _named(self, folder: Path, is_kind: Callable[[int], bool]) -> list[str]:
        try:
            return [name for name, mode in self._kinds(folder) if is_kind(mode)]
        except InputError as cause:
            self.note(str(cause))
            return []

    def _kinds(self, folder: Path) -> list[tuple[str, int]]:
        """The names in a folder with their modes, sorted. Raises InputError."""
        kinds: list[tuple[str, int]] = []
        try:
            with self._opened(folder) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if len(kinds) == MAX_ENTRIES:
                        raise InputError(
                            f"{one_line(str(folder))}: holds more than {MAX_ENTRIES} names; it is not read"
                        )
                    kinds.append((entry.name, entry.stat(follow_symlinks=False).st_mode))
        except OSError as cause:
            raise InputError(f"{one_line(str(folder))}: cannot be read ({cause.strerror})") from None
        return sorted(kinds)

    @contextmanager
    def _opened(self, folder: Path) -> Iterator[int]:
        """A descriptor of a folder in this one, reached without a link: one may have been put there since it was
        listed. Raises OSError."""
        descriptor = os.open(self.folder, _FOLDER)
        try:
            for name in folder.relative_to(self.folder).parts:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def data(self, path: Path, most: int) -> bytes | None:
        """The bytes of a file; None, with a note unless it is missing, where it cannot be read."""
        try:
            with self._opened(path.parent) as descriptor:
                content = read_regular_file(path, min(most, self._left), within=descriptor)
        except FileNotFoundError:
            return None
        except ArchiveError as cause:
            self.note(str(cause))
            return None
        except OSError as cause:
            self.note(f"{path}: cannot be read ({cause.strerror})")
            return None
        self._left -= len(content)
        return content

    def text(self, path: Path, most: int = MAX_DOCUMENT) -> str | None:
        """The text of a file, also of one that is not quite UTF-8; None where it cannot be read."""
        content = self.data(path, most)
        return None if content is None else content.decode("utf-8", "replace").replace("\r\n", "\n")

    def is_repeated(self, path: Path) -> bool:
        """Whether a file of that name was asked for before and had the same content; that takes nothing of
        MAX_TOTAL."""
        content = self.data(path, MAX_DOCUMENT)
        if content is None:
            return False
        self._left += len(content)
        digest = hashlib.sha256(content).digest()
        repeated = self._digests.get(path.name) == digest
        self._digests[path.name] = digest
        return repeated

    def document(self, path: Path) -> Mapping[str, Any] | None:
        """The JSON object in a file; None, with a note unless it is missing, where there is none."""
        content = self.text(path)
        if content is None:
            return None
        document = json_of(content)
        if not isinstance(document, dict):
            self.note(f"{path}: holds no JSON object; it was not read")
            return None
        return document


def json_of(text: object) -> Any:
    """The value of a JSON text, NaN and infinities among them; None where it is none, or is nested too deeply."""
    if not isinstance(text, str) or len(text) > MAX_DOCUMENT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def source_of(text: object, notes: list[str]) -> str | None:
    """A program's text; None, with a note, where it is none that can be evaluated."""
    if not isinstance(text, str) or not text.strip():
        notes.append("it has no text")
        return None
    try:
        check_size(text)
    except ProgramError as cause:
        notes.append(f"its text cannot be evaluated: {cause}")
        return None
    return text
