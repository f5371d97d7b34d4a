"""Commands that are printed: each can be pasted as it stands, into the shell that called this program."""

import os
import shlex
import sys
from pathlib import Path


def command(*words: str | os.PathLike[str], meaning: str = "") -> str:
    """The command line that calls this program with `words`, quoted; `meaning` stands behind it as a comment."""
    line = " ".join([program(), *(shlex.quote(os.fspath(word)) for word in words)])
    return f"{line}  # {meaning}" if meaning else line


def anywhere(*words: str) -> str:
    """The command line for a text that is read on other machines, too: the program by its plain name."""
    return shlex.join(["evolve", *words])


def program() -> str:
    """How this program is called here: as it was, or as the environment of this Python allows; quoted."""
    called = Path(sys.argv[0]) if sys.argv else Path()
    if called.name == "evolve" and called.is_file():
        return "evolve" if _is_on_path(called) else shlex.quote(str(called))
    if called.name != "__main__.py" and _is_on_path(Path(sys.executable).parent / "evolve"):
        return "evolve"  # called from somebody's own program
    return f"{_python()} -m evolve"


def _python() -> str:
    executable = Path(sys.executable)
    if _is_on_path(executable, linked=False):  # a link to it is another environment's Python
        return shlex.quote(executable.name)
    here = Path.cwd()
    inside = executable.is_relative_to(here)
    return shlex.quote(str(executable.relative_to(here) if inside else executable))


def _is_on_path(file: Path, *, linked: bool = True) -> bool:
    """Whether a shell finds this very file by its name alone; `linked`: or by a link to it."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = Path(folder or os.curdir) / file.name
        if os.access(found, os.X_OK) and found.is_file():
            here = found.absolute().parent == file.absolute().parent
            return here or (linked and file.exists() and found.samefile(file))
    return False
