"""The prompts of a run: how much of each stands at the head of the one before, and what the other programs take.

Usage: python -m tests.benchmarks.prompts [GENERATIONS] [RUN]

A run of `worded.py` on the task `placement`, with all kinds of patch, a meta document after every 20 programs and one
proposal at a time; or the run in the folder RUN, whose prompts are read as they are on record. Tokens are estimated at
four characters each. What a provider caches is the head of a prompt that it has seen: of the one before, or of any of
the ten before.
"""

import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from evolve.archive.reader import RunReader
from tests.benchmarks.worded import long_run

KINDS = {"diff": 0.6, "full": 0.2, "cross": 0.15, "fix": 0.05}
BEFORE = 10
OTHERS = "\n# Other programs of this run"
AFTER_OTHERS = ("\n# What was already tried in this run", "\n# Being worked on now", "\n# The program to ")


def main() -> None:
    generations = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if len(sys.argv) > 2:
        measure(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(long_run(Path(folder), generations, kinds=KINDS))


def measure(run: Path) -> None:
    """Print what the prompts of a run share, and what their other programs take."""
    with RunReader.open(run) as archive:
        asked = [attempt for generation in archive.statuses for attempt in archive.attempts(generation)]
        prompts = [archive.text(attempt.prompt) for attempt in asked if attempt.prompt is not None]
        shared(prompts)
        others = defaultdict[str, list[tuple[int, int, float]]](list)
        for attempt in asked:
            choice = archive.generation(attempt.generation)
            if attempt.prompt is not None and choice.inspirations:
                parent = set(_lines(archive.source(archive.find(attempt.parent))))
                sources = [archive.source(archive.find(commit)) for commit in choice.inspirations]
                lines = [line for source in sources for line in _lines(source)]
                repeated = sum(line in parent for line in lines) / max(1, len(lines))
                taken = _others(archive.text(attempt.prompt))
                others[choice.kind].append((taken, sum(map(len, sources)), repeated))
        for kind, rows in sorted(others.items()):
            taken, whole, repeated = (statistics.mean(column) for column in zip(*rows, strict=True))
            print(
                f"{kind:5} {len(rows):4} prompts: the other programs take {taken / 4:.0f} tokens, and whole they have "
                f"{whole / 4:.0f}; {100 * repeated:.0f} % of their lines stand in the parent"
            )


def shared(prompts: Sequence[str]) -> None:
    """Print which share of all tokens stands at the head of an earlier prompt."""
    last = sum(_head(*pair) for pair in pairwise(prompts))
    any_of_them = sum(
        max(_head(prompt, before) for before in prompts[max(0, place - BEFORE) : place])
        for place, prompt in enumerate(prompts)
        if place
    )
    total, constant = sum(map(len, prompts[1:])), _head(min(prompts), max(prompts))  # in the order of characters
    print(
        f"{len(prompts)} prompts of {statistics.mean(map(len, prompts)) / 4:.0f} tokens on average; the first "
        f"{constant / 4:.0f} are the same in all\n"
        f"of their tokens {100 * last / total:.0f} % stand at the head of the prompt before, "
        f"{100 * any_of_them / total:.0f} % at that of one of the {BEFORE} before"
    )


def _head(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    differing = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _others(prompt: str) -> int:
    """Characters of the part on other programs; 0 without one."""
    start = prompt.find(OTHERS)
    if start < 0:
        return 0
    return min(end for end in (prompt.find(mark, start + 1) for mark in AFTER_OTHERS) if end > 0) - start


def _lines(source: str) -> list[str]:
    return [line.strip() for line in source.split("\n") if line.strip()]


if __name__ == "__main__":
    main()
