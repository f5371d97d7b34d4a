"""Which evaluator made a verdict. Two verdicts can stand side by side only where this is the same."""

import hashlib
import importlib.metadata
from typing import Final

from evaluator.task import Suite, Task

VERDICTS: Final = 2
"""Raised by hand whenever this package may come to another verdict on some program than before: another outcome, cost,
score or quarantine (what candidates may import, how they are seeded, what the limits mean, what strict re-evaluation
compares). A change that cannot, such as a comment, a message or a faster way to the same, leaves it alone: else every
run on record would be stranded."""


def version_of(task: Task, suite: Suite) -> str:
    """`VERDICTS` and a hash of what else decides a verdict: the judge with its helpers, the adapter and the entry
    point (`task.digest`), instances, bounds and limits (`suite.digest`), the suite's name, from which `random` is
    seeded, and the packages that a program computes with, at their versions."""
    parts = [task.digest, suite.name, suite.digest, *_packages(task)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{VERDICTS}-{digest[:14]}"


def _packages(task: Task) -> list[str]:
    if not task.numpy:
        return []
    try:
        return [f"numpy {importlib.metadata.version('numpy')}"]
    except importlib.metadata.PackageNotFoundError:
        return ["numpy"]  # installed without its description, or not at all: the worker says which
