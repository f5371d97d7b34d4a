"""The version of an evaluator. Two verdicts are comparable only if it is the same."""

import hashlib
import importlib.metadata
import re
from typing import Final

from evaluator.task import Suite, Task

_REQUIRED: Final = re.compile(r"[A-Za-z0-9._-]+")  # the name at the head of a requirement

VERDICTS: Final = 3
"""Raised by hand whenever this package may give some program another outcome, cost, score or quarantine (what
candidates may import, how they are seeded, what the limits mean, what strict re-evaluation compares). Not raised for a
comment, a message or a faster way to the same verdict: that would strand every recorded run."""


def version_of(task: Task, suite: Suite) -> str:
    """`VERDICTS` and a hash of everything else that decides a verdict: the judge with its helpers, the adapter, the
    objective and the entry point (`task.digest`), instances, bounds and limits (`suite.digest`), the best known values,
    and the packages of programs with their versions."""
    best_known = [f"{listed.instance} {listed.value!r}" for listed in suite.best_known]
    parts = [task.digest, suite.digest, *best_known, *package_versions(task)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{VERDICTS}-{digest[:14]}"


def package_versions(task: Task) -> list[str]:
    """The packages that a program may import and their requirements, each with its version."""
    versions: dict[str, str] = {}
    waiting = [name.partition(".")[0] for name in task.packages]
    while waiting:
        name = waiting.pop()
        if name.lower() in versions:
            continue
        try:
            versions[name.lower()] = importlib.metadata.version(name)
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            versions[name.lower()] = ""  # installed under another name, or not at all: the worker says which
            continue
        waiting += [match[0] for need in needs if "extra ==" not in need and (match := _REQUIRED.match(need))]
    return [f"{name} {version}".rstrip() for name, version in sorted(versions.items())]
