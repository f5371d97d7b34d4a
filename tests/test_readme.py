"""The README's tour runs as written, and ends as it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def shown() -> list[tuple[str, list[str]]]:
    """The commands of the console blocks, each with the lines shown of its output."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def comparable(line: str) -> str:
    """A line without what a clock or the machine decides."""
    line = re.sub(r"^\[.*?\] |; \S+ left|sandbox level \w+|on \d+ workers", "", line)
    return line.rstrip().removesuffix("...").rstrip()


@pytest.mark.slow
def test_the_tour_runs_as_written(tmp_path: Path) -> None:
    tour = shown()
    assert len(tour) >= 5
    assert any("--model" in command for command, _ in tour)
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, lines in tour:
        check_tour_command(command, lines, tmp_path, here)


def check_tour_command(command: str, lines: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run a command of the tour: it ends well, and prints the lines that are shown."""
    ran = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, f"{command}: {ran.stderr}"
    printed = [comparable(line) for line in ran.stdout.splitlines()]
    for line in lines:
        wanted = comparable(line)
        assert any(one.startswith(wanted) for one in printed), f"{command} does not print: {line}\n{ran.stdout}"
