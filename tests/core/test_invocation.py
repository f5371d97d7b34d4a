"""Whatever command is printed can be pasted."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evolve import __version__
from evolve.core.invocation import command

BIN = Path(sys.executable).parent
ELSEWHERE = {"PATH": "/usr/bin:/bin"}


def call(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    there = {**os.environ, **environment}
    return subprocess.run(words, cwd=folder, env=there, capture_output=True, text=True, check=False)


def printed(folder: Path, *start: str, **environment: str) -> str:
    """The command in an error, as a person who starts the program so sees it."""
    ran = call([*start, "nosuch"], folder, **environment)
    assert ran.returncode == 2, ran.stderr
    return re.search(r"\(see: (.*)\)", ran.stderr)[1]  # type: ignore[index]


def test_words_are_quoted_and_the_meaning_is_a_comment() -> None:
    line = command("export", Path("runs/two words"), "best", "-o", "it's.py", meaning="take it with you")
    assert shlex.split(line, comments=True)[-5:] == ["export", "runs/two words", "best", "-o", "it's.py"]
    assert line.endswith("  # take it with you")


def test_a_program_on_the_path_is_called_by_its_name(tmp_path: Path) -> None:
    assert printed(tmp_path, str(BIN / "evolve"), PATH=f"{BIN}:/usr/bin:/bin") == "evolve --help"


def test_one_that_is_not_is_called_as_it_was(tmp_path: Path) -> None:
    assert printed(tmp_path, str(BIN / "evolve"), **ELSEWHERE) == f"{BIN}/evolve --help"
    (tmp_path / "two words").symlink_to(BIN)
    assert printed(tmp_path, "two words/evolve", **ELSEWHERE) == "'two words/evolve' --help"


def test_a_module_is_called_by_the_python_that_has_it(tmp_path: Path) -> None:
    assert printed(tmp_path, sys.executable, "-m", "evolve", **ELSEWHERE) == f"{sys.executable} -m evolve --help"
    name = Path(sys.executable).name
    assert printed(tmp_path, sys.executable, "-m", "evolve", PATH=str(BIN)) == f"{name} -m evolve --help"


def test_another_environments_program_is_not_named(tmp_path: Path) -> None:
    other = tmp_path / "bin"
    other.mkdir()
    (other / "evolve").write_text("#!/bin/sh\nexit 9\n")
    (other / "evolve").chmod(0o755)
    assert printed(tmp_path, str(BIN / "evolve"), PATH=f"{other}:{BIN}") == f"{BIN}/evolve --help"


@pytest.mark.parametrize("path", [f"{BIN}:/usr/bin:/bin", ELSEWHERE["PATH"]])
def test_what_is_printed_for_a_program_of_ones_own_works_there(tmp_path: Path, path: str) -> None:
    script = "from evolve.core.invocation import command; print(command('--version', meaning='which one'))"
    line = call([sys.executable, "-c", script], tmp_path, PATH=path).stdout
    again = call(["sh", "-c", line], tmp_path, PATH=path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == f"evolve {__version__}\n"
