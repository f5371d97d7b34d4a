"""The texts of commits, patches, moments and durations, and the unified diff of two sources."""

import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os.path import commonprefix

from evaluator.program_files import Files
from evaluator.untrusted import one_line
from evolve.archive.reader import SHORT
from evolve.archive.records import ProgramRecord
from evolve.core.program import split_lines
from evolve.patch.text import unified


def short_commits(commits: Iterable[str]) -> dict[str, str]:
    """For each commit, its first letters: `SHORT`, or as many as make it unique."""
    ordered = sorted(set(commits))
    shared = [len(commonprefix(pair)) for pair in pairwise(ordered)]  # noqa: RUF071 # letters are meant
    lengths = [max(SHORT, *(1 + n for n in shared[max(0, index - 1) : index + 1]), 1) for index in range(len(ordered))]
    return {commit: commit[:length] for commit, length in zip(ordered, lengths, strict=True)}


def time_text(seconds: float) -> str:
    """A moment, given in wall seconds, as the local date and time to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def counted(count: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def duration_text(seconds: float) -> str:
    """A duration as minutes and seconds, or hours, minutes and seconds."""
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def unified_diff(before: str, after: str, before_name: str, after_name: str, *, context: int = 3) -> str:
    """The unified diff from `before` to `after` for `patch` and `git apply`; empty if they are equal."""
    lines = list(unified(split_lines(before), split_lines(after), context=context, end="\n"))
    lines[:0] = [f"--- {before_name}\n", f"+++ {after_name}\n"] if lines else []
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def diff_of_files(before: Files, after: Files, before_name: str, after_name: str) -> str:
    """The unified diff of two programs; of several files each that differs has a head with its path, and with
    /dev/null where it is missing. Empty if the programs are equal."""
    if len(before) == len(after) == 1 and [*before] == [*after]:
        return unified_diff(before.only, after.only, before_name, after_name)
    return "".join(
        unified_diff(
            before.get(path, ""),
            after.get(path, ""),
            f"a/{path}\t{before_name}" if path in before else "/dev/null",
            f"b/{path}\t{after_name}" if path in after else "/dev/null",
        )
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def program_label(program: ProgramRecord, short: Mapping[str, str]) -> str:
    """The name of a program in the head of a diff; `short` has the run's shortened commits."""
    return f"generation {program.generation} ({short[program.commit]})"


def patch_label(program: ProgramRecord, limit: int = 60) -> str:
    """The name of a program's patch, with its kind unless it is a plain edit or the initial program."""
    kind, full = program.origin.kind.value, program.origin.patch_name
    name = one_line(full[:limit]) + ("..." if len(full) > limit else "")
    if not name:
        return kind
    return name if kind in ("diff", "initial") else f"{name} ({kind})"
