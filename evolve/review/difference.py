"""What differs between two sources, as a unified diff."""

import difflib
from collections.abc import Mapping

from evolve.archive.records import ProgramRecord


def unified_diff(before: str, after: str, before_name: str, after_name: str, *, context: int = 3) -> str:
    """The unified diff from `before` to `after`, as `patch` and `git apply` take it; empty when they are equal."""
    lines = difflib.unified_diff(_lines(before), _lines(after), fromfile=before_name, tofile=after_name, n=context)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def program_label(program: ProgramRecord, short: Mapping[str, str]) -> str:
    """What a program is called in the head of a diff; `short` are the run's commits as they are shown."""
    return f"generation {program.generation} ({short[program.commit]})"


def _lines(text: str) -> list[str]:
    """The lines of `text` with their ends, cut at newlines alone (splitlines also cuts at form feeds and others)."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
