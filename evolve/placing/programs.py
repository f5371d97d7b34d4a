"""The programs that are tried on a cluster: those that ship, or one that is named."""

import math
from pathlib import Path
from typing import Final

from evaluator.task import Task
from evolve.archive.reader import RunReader
from evolve.errors import InputError
from evolve.files import read_source
from evolve.placing.trying import Contender
from evolve.review.baselines import cpu_seconds
from evolve.review.runs import resolve_run

_LARGEST: Final = "fleet"


def shipped(task: Task) -> list[Contender]:
    """The initial program, the baselines and the families of the task: the fastest first, as they were measured on the
    largest instances that ship, and those of which that is not known last."""
    folder = task.initial.parent
    files = [task.initial, *sorted((folder / "baselines").glob("*.py")), *sorted((folder / "families").glob("*.py"))]
    known = cpu_seconds(task.name, _LARGEST)
    files.sort(key=lambda path: known.get(path.relative_to(folder).with_suffix("").as_posix(), math.inf))
    return [Contender(name=path.stem, source=read_source(path)) for path in files]


def named(name: str, task: Task) -> Contender:
    """The program in a file, or of a run, as `RUN:PROGRAM`. Raises InputError and ArchiveError."""
    run, colon, program = name.rpartition(":")
    if not colon or Path(name).is_file():
        return Contender(name=name, source=read_source(Path(name)))
    with RunReader.open(resolve_run(run)) as archive:
        if archive.identity["task"] != task.name:
            raise InputError(
                f"{run} is a run of the task {archive.identity['task']!r}; only programs of placement place"
            )
        return Contender(name=name, source=archive.source(archive.find(program)))
