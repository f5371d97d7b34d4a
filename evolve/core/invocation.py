"""Printed commands: each can be pasted into the shell that called this program."""

import os
import shlex
import sys
from pathlib import Path


def command(*words: str | os.PathLike[str], meaning: str = "") -> str:
    """The command line that calls this program with `words`, quoted, with its `meaning` as a comment."""
    line = " ".join([program(), *(shlex.quote(os.fspath(word)) for word in words)])
    return f"{line}  # {meaning}" if meaning else line


def anywhere(*words: str) -> str:
    """The command line for texts that are read on other machines, too: with the plain name of the program."""
    return shlex.join(["evolve", *words])


def program() -> str:
    """The quoted name of this program: as it was called, or as this Python's environment allows."""
    called = Path(sys.argv[0]) if sys.argv else Path()
    if called.name == "evolve" and called.is_file():
        return "evolve" if _is_on_path(called) else shlex.quote(str(called))
    if called.name != "__main__.py" and _is_on_path(Path(sys.executable).parent / "evolve"):
        return "evolve"  # called from another program
    return f"{_python()} -m evolve"


def _python() -> str:
    executable = Path(sys.executable)
    if _is_on_path(executable, linked=False):  # a link to it is another environment's Python
        return shlex.quote(executable.name)
    here = Path.cwd()
    inside = executable.is_relative_to(here)
    return shlex.quote(str(executable.relative_to(here) if inside else executable))


def _is_on_path(file: Path, *, linked: bool = True) -> bool:
    """Whether a shell finds this very file by its name alone; `linked`: or a link to it."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        first = Path(folder or os.curdir) / file.name
        if os.access(first, os.X_OK) and first.is_file():
            is_here = first.absolute().parent == file.absolute().parent
            return is_here or (linked and file.exists() and first.samefile(file))
    return False
