"""Programs as values: their evolvable parts, whether they are usable, and when two of them are equal."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from evaluator.program_files import MOST_FILE_BYTES, Files
from evolve.core.errors import ProgramError, UnclosedBlock
from evolve.core.python_source import MAX_SOURCE_BYTES, parsed, tokens, top_level_names
from evolve.lang.languages import PYTHON, SIGNS, Language, language_of
from evolve.lang.lexing import normalised

START, END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
_MARKER = re.compile(
    r"[ \t]*+(?:"
    + "|".join(rf"{re.escape(sign)}[ \t]*+EVOLVE-BLOCK-(?:START|END)[ \t]*+{re.escape(close)}" for sign, close in SIGNS)
    + r")\s*"
)


class PatchKind(StrEnum):
    """How a program came to be."""

    INITIAL = "initial"
    DIFF = "diff"
    FULL = "full"
    CROSS = "cross"
    FIX = "fix"
    TUNE = "tune"


OFFLINE: Final = "offline"
TUNER: Final = "tuner"
"""Names of code that writes patches, in the place of a model's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a program: the kind of patch, its author, its name and reason (both untrusted text), and the
    changes that it made (`features` and `lines`, see `evolve.patch.features`)."""

    kind: PatchKind
    model: str
    patch_name: str
    description: str
    features: tuple[str, ...] = ()
    lines: int | None = None  # None of the initial program

    @property
    def by_code(self) -> bool:
        """Whether code wrote the patch and its reason."""
        return self.model in (OFFLINE, TUNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program of a run. `parents` are the commits of its parents, the first one being the patched one."""

    commit: str
    generation: int
    files: Files
    parents: tuple[str, ...]
    island: int
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Text that may evolve: the lines `start` to `stop` of a program (from 0, `stop` not included), and that text."""

    start: int
    stop: int
    text: str


def split_lines(text: str) -> list[str]:
    r"""The lines of `text` with their ends, broken at `\n` alone: a form feed or `\x85` in a string ends no line."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    if parts[-1]:
        lines.append(parts[-1])
    return lines


def marker(line: str) -> str | None:
    """`START` or `END` if the line is a marker of an evolve block (a comment of any language with nothing else on the
    line), else None."""
    if "EVOLVE-BLOCK-" not in line or not _MARKER.fullmatch(line):
        return None
    return "START" if START in line else "END"


def evolve_regions(source: str) -> tuple[Region, ...]:
    """The evolvable parts of a program, in order: the text between START and END markers, or all of it without markers.

    Raises ProgramError if a marker lacks its partner or blocks are nested. The program need not be valid.
    """
    return marked_regions(source) or (Region(start=0, stop=len(split_lines(source)), text=source),)


def marked_regions(source: str) -> tuple[Region, ...]:
    """The text between START and END markers, in order; () without markers. Raises ProgramError for broken blocks."""
    if "EVOLVE-BLOCK-" not in source:
        return ()
    lines = split_lines(source)
    regions: list[Region] = []
    start: int | None = None
    for number, line in enumerate(lines):
        kind = marker(line)
        if kind is None:
            continue
        if kind == "START":
            if start is not None:
                raise ProgramError(
                    f"{START} inside the block that starts on line {start}; blocks cannot be nested, so end that one "
                    f"first with `{line.strip().replace(START, END)}`",
                    line=number + 1,
                )
            start = number + 1
        else:
            if start is None:
                raise ProgramError(f"{END} without an {START} before it", line=number + 1)
            regions.append(Region(start=start, stop=number, text="".join(lines[start:number])))
            start = None
    if start is not None:
        raise UnclosedBlock(f"{START} without an {END} after it", line=start)
    return tuple(regions)


def check_program(source: str, *, language: Language, entry_point: str, name: str) -> None:
    """Check that a program can start a run: size, encoding, markers; of Python also syntax and entry point ("": none).

    Raises ProgramError, whose message begins with `name` (the file's).
    """
    try:
        check_size(source)
        check_syntax(source, language)
        evolve_regions(source)
    except ProgramError as error:
        raise ProgramError(f"{name}: {error}") from None
    if language is PYTHON and entry_point and entry_point not in top_level_names(parsed(source)):
        raise ProgramError(
            f"{name}: the entry point `{entry_point}` is not defined at the top level; "
            f"the program must define `def {entry_point}(...)`"
        )


def check_files(files: Files, *, folder: str) -> None:
    """Check that a program of several files can start a run, as `check_program` does of one. Raises ProgramError."""
    for path, source in files.items():
        with naming(f"{folder}/{path}"):
            check_size(source, MOST_FILE_BYTES)
            check_syntax(source, language_of(path))
            evolve_regions(source)


def check_size(source: str, most: int = MAX_SOURCE_BYTES) -> None:
    """Raise ProgramError if the source has more than `most` bytes, or cannot be written as UTF-8."""
    try:
        size = len(source.encode("utf-8"))
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        character = source[error.start]
        raise ProgramError(
            f"the character U+{ord(character):04X} cannot be written as UTF-8; remove it", line=line
        ) from None
    if size > most:
        what = "program" if most == MAX_SOURCE_BYTES else "file"
        raise ProgramError(f"{size} bytes of source; a {what} may have at most {most}")


def check_syntax(source: str, language: Language) -> None:
    """Raise ProgramError, with line and reason, for invalid Python. Other languages are compiled in the sandbox, by the
    task."""
    if language is PYTHON:
        parsed(source)


def program_hash(files: Files) -> str:
    """The sha256, in hex, that equal programs share: of one file `normalised_hash`, of several the paths, too. Raises
    ProgramError, which names the file of several, if a source should be Python and is not."""
    if len(files) == 1:
        ((path, text),) = files.pairs
        return normalised_hash(text, language_of(path))
    digest = hashlib.sha256()
    for path, text in files.pairs:
        with naming(path):
            digest.update(f"{path}\n{_hash_of_file(text, language_of(path))}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _hash_of_file(text: str, language: Language) -> str:
    """`normalised_hash`, kept: a patch leaves most files of a program as they are."""
    return normalised_hash(text, language)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Have a ProgramError of the body name a file."""
    try:
        yield
    except ProgramError as error:
        raise ProgramError(f"{path}: {error}") from None


def normalised_hash(source: str, language: Language = PYTHON) -> str:
    """The sha256, in hex, of a text without comments and layout (of Python: of its syntax tree without docstrings).

    Two texts have equal hashes if they differ in nothing else (where the language has a grammar: see
    `evolve.lang.lexing`), and only then. Raises ProgramError if the source should be Python and is not.
    """
    text = "\n".join(tokens(parsed(source))) if language is PYTHON else normalised(source, language)
    return hashlib.sha256(text.encode("ascii", "backslashreplace")).hexdigest()
