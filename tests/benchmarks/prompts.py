"""The prompts of a run: how long they are, what each section takes, and what they share with the ones before.

Usage: python -m tests.benchmarks.prompts [GENERATIONS] [RUN]

Runs of the tasks `placement` and `txn_scheduling`, with one and with eight proposals in flight, all kinds of patch and
a report after every 10 proposals; or the run in the folder RUN, whose prompts are read as they are on record. Another
checkout is measured alike in its folder, by `PYTHONPATH=. .venv/bin/python` and the path of this file.

Tokens are estimated at four characters each. What a provider caches is the head of a prompt that it has seen: of the
one before, or of any of the ten before.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from evolve.archive.reader import RunReader
from evolve.core.completion import Completion, PatchKey, RequestKey
from tests.benchmarks import worded

KINDS = {"diff": 0.6, "full": 0.2, "cross": 0.15, "fix": 0.05}
BEFORE = 10
FIXED = ("The task", "Rules", "Quoted text", "The form of your answer")
"""The sections that are the same in all prompts of one kind: the fixed head."""
OTHERS = "Other programs of this run"


class Steps(worded.Worded):
    """The client: it takes a while, so that several proposals are in flight, and has steps for either task."""

    def complete(self, messages: Any, *, key: RequestKey, observe: Any) -> Completion:
        chance, answer = random.Random(str(key)), super().complete(messages, key=key, observe=observe)
        time.sleep(chance.uniform(0.3, 1.5))
        if not isinstance(key, PatchKey) or "`schedule`" not in messages[0].content:
            return answer
        step = f"""=======
    # {" ".join(chance.choices(worded.WORDS, k=9))}
    def weight_{key.generation}(index):
        length, operations = transactions[index]
        written = sum(kind == "w" for kind, key, position in operations)
        return {chance.uniform(-1, 1):.3f} * length + {chance.uniform(-1, 1):.3f} * written
    last = {chance.randint(10, 100)}
    order = sorted(order[:last], key=weight_{key.generation}) + order[last:]
{"    raise ValueError" if key.generation % 20 == 13 else ""}
    # next step
"""
        return replace(
            answer, text=re.sub(r"=======\n.*    # next step\n", lambda _: step, answer.text, flags=re.DOTALL)
        )


def main() -> None:
    generations = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    if len(sys.argv) > 2:
        measure(Path(sys.argv[2]))
        return
    for task in ("placement", "txn_scheduling"):
        for parallel in (1, 8):
            with tempfile.TemporaryDirectory() as folder:
                print(f"\n{task}, {parallel} in flight")
                measure(run(Path(folder), task, parallel, generations))


def run(folder: Path, task: str, parallel: int, generations: int) -> Path:
    """The folder of a run of that model."""
    initial = (worded.ROOT / "programs" / task / "initial.py").read_text(encoding="utf-8")
    initial = initial.replace("    return order\n", "    # next step\n    return order\n")
    (folder / "initial.py").write_text(worded.initial() if task == "placement" else initial, encoding="utf-8")
    document = {
        "task": task,
        "initial": str(folder / "initial.py"),
        "models": [{"model": "steps", "client": "prompts:Steps", "api_key_env": None}],
        "generations": generations,
        "meta_every": 10,
        "parallel": parallel,
        "search": {"kinds": KINDS},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    command = [sys.executable, "-m", "evolve", "run", "run.yaml", "--name", "run"]
    here = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}:{worded.ROOT}"}
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=here)
    return folder / "runs" / "run"


def measure(folder: Path) -> None:
    """Print how long the prompts of a run are, what they share, and what their other programs take."""
    with RunReader.open(folder) as archive:
        asked = [attempt for generation in archive.statuses for attempt in archive.attempts(generation)]
        prompts = [archive.text(attempt.prompt) for attempt in asked if attempt.prompt is not None]
        shared(prompts)
        parts(prompts)
        others = defaultdict[str, list[tuple[int, int, float]]](list)
        for attempt in asked:
            choice = archive.generations[attempt.generation]
            if attempt.prompt is not None and choice.inspirations:
                parent = set(_lines(archive.files(archive.find(attempt.parent)).only))
                sources = [archive.files(archive.find(commit)).only for commit in choice.inspirations]
                lines = [line for source in sources for line in _lines(source)]
                repeated = sum(line in parent for line in lines) / max(1, len(lines))
                taken = dict(sections(archive.text(attempt.prompt))).get(OTHERS, 0)
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


def parts(prompts: Sequence[str]) -> None:
    """Print what each section takes of a prompt on average, in characters and as a share."""
    found = defaultdict[str, int](int)
    for prompt in prompts:
        for title, length in sections(prompt):
            found[title] += length
    total, fixed = sum(found.values()), sum(found[title] for title in FIXED)
    print(f"characters on average {total / len(prompts):,.0f}, of which the fixed head {100 * fixed / total:.1f} %")
    for title, length in found.items():
        print(f"  {title:40} {length / len(prompts):8,.0f} {100 * length / total:5.1f} %")


def sections(prompt: str) -> Iterator[tuple[str, int]]:
    """The title of each section, without what differs from prompt to prompt, and its length."""
    starts = list(re.finditer(r"^# (.*)\n(?=\n)", prompt, re.MULTILINE))
    for start, end in zip(starts, [*(match.start() for match in starts[1:]), len(prompt)], strict=True):
        yield re.split(r" improve| combine| repair|[,:]| \d", start[1])[0], end - start.start()


def _head(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    differing = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _lines(source: str) -> list[str]:
    return [line.strip() for line in source.split("\n") if line.strip()]


if __name__ == "__main__":
    main()
