"""`evolve apply`: put a program of a run on a new branch of the repository that its task was made of."""

import argparse

from evolve.apps.repository.returning import apply_to
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.review.runs import resolve_run
from evolve.trust import replayed_task


def run(arguments: argparse.Namespace) -> int:
    """Make the branch, and end with 0. Raises InputError where the repository does not fit."""
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        program = archive.find(arguments.program)
        rest = arguments.program, arguments.path
        task = replayed_task(archive, typed=arguments.task, trust=arguments.trust, verb="apply", rest=rest)
        if task.repository is None:
            raise InputError(f"{arguments.run_name}: the task {task.name!r} is not made of a repository")
        branch, commit = apply_to(archive, program, task.repository, arguments.path)
    output.say(f"{arguments.path}: generation {program.generation} is the commit {commit[:12]} on the branch {branch}")
    output.say(f"git -C {arguments.path} switch {branch}", whole=True)
    return 0
