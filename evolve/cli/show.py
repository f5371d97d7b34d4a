"""`evolve show`: one program of a run, or one of its texts."""

import argparse
from typing import Any

from evaluator.task_files import built_in_tasks, load_task
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.opening import require_task_of
from evolve.review import instances, overview
from evolve.review.generation_view import PROPOSED, SHOWN, GenerationReader, GenerationView
from evolve.review.generations import generation_called
from evolve.review.instances import InstanceRow, instance_rows
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.trust import nameable_task


def run(arguments: argparse.Namespace) -> int:
    """Show, and end with 0."""
    if arguments.task is not None and not arguments.instances:
        raise InputError("--task names the task with the bounds of --instances: give both, or neither")
    folder = resolve_run(arguments.run_name)
    with RunReader.open(folder) as archive:
        view = GenerationReader(archive).view(generation_called(archive, arguments.program))
        text = None if arguments.text is None else _text(view, arguments.text)
        if arguments.json:
            record: dict[str, Any] = {"run": folder.resolve().name}
            record |= view.to_json(PROPOSED if view.program is None else SHOWN)
            if arguments.instances:
                rows, _ = _instances(view, arguments.task)
                record["instances"] = [row.to_json() for row in rows]
            output.print_json(record if text is None else record | {arguments.text: text})
        elif arguments.instances:
            _print_instances(view, arguments.task)
        elif text is not None:
            output.print_whole(text)
        else:
            output.say(overview.title(view), Tone.STRONG)
            output.print_fields(overview.fields(view))
    return 0


def _text(view: GenerationView, kind: str) -> str:
    """Read one of a generation's texts. Raises InputError when it has none of that kind."""
    archive, program, attempts = view.reader.archive, view.program, view.questions
    if kind in ("prompt", "answer", "reasoning"):
        stored = getattr(attempts[-1], kind) if attempts else None
        if stored is None:
            model = f" ({attempts[-1].model})" if attempts and attempts[-1].model else ""
            raise InputError(f"generation {view.generation} has no {kind} on record{model}")
        return archive.text(stored)
    if program is None:
        raise InputError(f"generation {view.generation} has no {kind}: it did not become a program ({view.status})")
    if kind == "code":
        return archive.files(program).joined
    if kind == "feedback":
        return view.evaluation.feedback
    if not program.parents:
        why = "no parent is on record" if view.generation else "it is the initial program"
        raise InputError(f"generation {view.generation} has no patch: {why}")
    return archive.patch_text(program)


def _instances(view: GenerationView, task_name: str | None) -> tuple[list[InstanceRow], str]:
    """A program's results with the bounds, and a remark where there are none. Raises InputError, TaskError.

    Reading an archive runs none of its code, and a task is code: only a built-in task, or one that the person names,
    is loaded.
    """
    archive, program, generation = view.reader.archive, view.program, view.generation
    if program is None:
        raise InputError(f"generation {generation} has no instances: it did not become a program ({view.status})")
    name, suite_name = archive.identity["task"], archive.identity["suite"]
    if task_name is None and name not in built_in_tasks():
        with_task = ("show", archive.folder, str(generation), "--instances", "--task", nameable_task(archive))
        return instance_rows(archive, program, None), f"With the task's bounds: {command(*with_task)}"
    task = load_task(name if task_name is None else task_name)
    require_task_of(archive, task, named=f"--task {task_name}")
    suite = task.suite(suite_name)
    rows = instance_rows(archive, program, suite, [task.judge.describe(instance) for instance in suite.instances])
    if len(rows) != len(suite.instances):
        changed = f"No bounds are shown, since the suite {suite_name!r} has changed."
        return instance_rows(archive, program, None), changed
    return rows, ""


def _print_instances(view: GenerationView, task_name: str | None) -> None:
    rows, remark = _instances(view, task_name)
    output.say(overview.title(view), Tone.STRONG)
    for line in instances.summary(rows):
        output.say(line)
    output.say()
    output.print_table(instances.table(rows))
    if remark:
        output.note(remark, Tone.QUIET, whole=True)
