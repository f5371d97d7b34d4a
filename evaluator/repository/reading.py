"""Reads the repository of a task: its keys in `task.yaml`, and the noise of its unchanged code."""

import json
from pathlib import Path

from evaluator.errors import TaskError
from evaluator.input_files import checked
from evaluator.objective import Direction
from evaluator.places import content_of
from evaluator.repository_task import NOISE, TREE, Repository
from evaluator.task_code import describe_error
from evaluator.task_yaml import NoiseFile, TaskEntry


def read_repository(entry: TaskEntry) -> Repository | None:
    """The task's repository; None for a task of another kind. Raises TaskError."""
    given, folder = entry.repository, entry.path.parent
    if given is None:
        return None
    if not (folder / TREE).is_dir():
        raise entry.wrong("repository", f"is given, and there is no folder {folder / TREE} with its files")
    runs, host = _read_noise(folder / NOISE)
    return Repository(
        folder=folder,
        commit=given.commit,
        edit=tuple(entry.edit or ()),
        test=given.test,
        bench=given.bench,
        measure=given.measure,
        metric=given.metric or "",
        direction=given.direction or Direction.MINIMISE,
        setup=given.setup or "",
        build=given.build or "",
        test_count=given.test_count or "",
        tests=given.tests,
        repeats=given.repeats,
        new_files=bool(entry.new_files),
        path=tuple(given.path),
        noise_runs=runs,
        noise_host=host,
    )


def _read_noise(path: Path) -> tuple[tuple[float, ...], str]:
    """(runs, host) of a file of noise; () without one: then the noise is measured when it is needed. Raises
    TaskError."""
    if not path.is_file():
        return (), ""
    try:
        document = json.loads(content_of(path))
    except (ValueError, RecursionError) as cause:
        raise TaskError(f"{path}: is not JSON ({describe_error(cause)})") from None
    noise = checked(NoiseFile, document, path, TaskError)
    return tuple(noise.runs), noise.host
