"""Which evaluator made a verdict. Two verdicts can stand side by side only where this is the same."""

import hashlib
import importlib.metadata
import re
from typing import Final

from evaluator.task import Suite, Task

_REQUIRED: Final = re.compile(r"[A-Za-z0-9._-]+")  # the name at the head of a requirement

VERDICTS: Final = 3
"""Raised by hand whenever this package may come to another verdict on some program than before: another outcome, cost,
score or quarantine (what candidates may import, how they are seeded, what the limits mean, what strict re-evaluation
compares). A change that cannot, such as a comment, a message or a faster way to the same, leaves it alone: else every
run on record would be stranded."""


def version_of(task: Task, suite: Suite) -> str:
    """`VERDICTS` and a hash of what else decides a verdict: the judge with its helpers, the adapter, the objective and
    the entry point (`task.digest`), instances, bounds and limits (`suite.digest`), the values listed as best known, and
    the packages that a program computes with, at their versions."""
    listed = [f"{one.instance} {one.value!r}" for one in suite.best_known]
    parts = [task.digest, suite.digest, *listed, *_packages(task)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{VERDICTS}-{digest[:14]}"


def _packages(task: Task) -> list[str]:
    """The packages that a program may import, and what those need, each at its version."""
    found: dict[str, str] = {}
    waiting = [name.partition(".")[0] for name in task.packages]
    while waiting:
        name = waiting.pop()
        if name.lower() in found:
            continue
        try:
            found[name.lower()] = importlib.metadata.version(name)
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            found[name.lower()] = ""  # installed under another name, or not at all: the worker says which
            continue
        waiting += [match[0] for need in needs if "extra ==" not in need and (match := _REQUIRED.match(need))]
    return [f"{name} {version}".rstrip() for name, version in sorted(found.items())]
