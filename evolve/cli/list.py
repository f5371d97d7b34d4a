"""`evolve list`: the runs of a folder, or the programs or generations of a run."""

import argparse
from pathlib import Path
from typing import Any

from evolve.archive.ranking import new_bests
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.cli import output
from evolve.core.errors import ArchiveError, InputError, MachineError
from evolve.core.invocation import command
from evolve.insights.yields import model_yields
from evolve.review import catalogue, doubts, generations
from evolve.review.catalogue import ListedRun, models_table
from evolve.review.estimate import prices_on_record
from evolve.review.generation_view import BEGUN, LISTED, GenerationReader
from evolve.review.generations import all_generations
from evolve.review.run_view import LISTED_RUN, OF_ALL, OPENED_RUN, RunView
from evolve.review.runs import RUNS, known_runs, resolve_run
from evolve.review.scores import ordered
from evolve.review.table import Table, Tone

_SHOWN = 20
"""The longest list of unreadable runs."""


def run(arguments: argparse.Namespace) -> int:
    """List, and end with 0."""
    options = ("all", "failed", "best", "sort", "top")
    given = [name for name in options if getattr(arguments, name) not in (None, False)]
    folder = RUNS if arguments.run_name is None else resolve_run(arguments.run_name)
    if arguments.run_name is None or known_runs(folder):
        if given:
            raise InputError(f"--{given[0]} is about one run: name the RUN")
        return _runs(folder, as_json=arguments.json)
    if arguments.sort is not None and given[0] != "sort":
        raise InputError(f"--sort orders programs, and --{given[0]} has an order of its own: give one of the two")
    with RunReader.open(folder) as archive:
        if arguments.json:
            output.print_json(_document(folder.resolve().name, archive, arguments))
        else:
            _screen(folder.resolve().name, archive, arguments)
    return 0


def _runs(folder: Path, *, as_json: bool) -> int:
    """List the runs in a folder, and the folders of experiments in it that hold more."""
    rows: list[ListedRun] = []
    unreadable: list[dict[str, str]] = []
    for name in known_runs(folder):
        try:
            with RunReader.open(folder / name) as archive:
                row = RunView(name=name, archive=archive).to_json(LISTED_RUN)
                rows.append(ListedRun(row, archive.best, archive.spent))
        except (ArchiveError, MachineError) as cause:
            unreadable.append({"run": name, "reason": str(cause)})
    if as_json:
        output.print_json({"runs": [listed.row for listed in rows], "unreadable": unreadable})
        return 0
    for entry in unreadable[:_SHOWN]:
        output.complain(f"{entry['run']} cannot be read: {entry['reason']}")
    if len(unreadable) > _SHOWN:
        output.complain(f"and {len(unreadable) - _SHOWN} more cannot be read; all of them: {command('list', '--json')}")
    if rows:
        output.print_table(catalogue.runs_table(rows))
    elif not unreadable:
        output.say(f"{folder.absolute()} holds no run yet; make one with: {command('run')}", whole=True)
    for inner in sorted(path for path in folder.glob("*") if not path.is_symlink() and known_runs(path)):
        output.note(f"{len(known_runs(inner))} more runs in {inner}: {command('list', inner)}", whole=True)
    return 0


def _document(name: str, archive: RunReader, arguments: argparse.Namespace) -> dict[str, Any]:
    run, reader = RunView(name=name, archive=archive), GenerationReader(archive)
    views = [view for view in run.generations if view.is_failed or not arguments.failed]
    rows = {
        "programs": [reader.view(program.generation).to_json(LISTED) for program in _programs(archive, arguments)],
        "generations": [view.to_json(BEGUN) for view in views],
    }
    return run.to_json(OPENED_RUN) | rows | run.to_json(OF_ALL)


def _programs(archive: RunReader, arguments: argparse.Namespace) -> list[ProgramRecord]:
    """The programs that the options select, in their order."""
    if arguments.best:
        return new_bests(archive.programs)[: arguments.top]
    programs = ordered(archive.programs, "score" if arguments.sort is None else arguments.sort)
    if arguments.failed:
        programs = [program for program in programs if not program.correct]
    return programs[: arguments.top]


def _screen(name: str, archive: RunReader, arguments: argparse.Namespace) -> None:
    table, left_out = _table(archive, arguments)
    output.say(catalogue.headline(name, archive), Tone.STRONG)
    for line in [*catalogue.state(archive), *prices_on_record(archive)]:
        output.say(line, Tone.QUIET)
    if archive.finished is None and not archive.running:
        output.print_commands([(command("resume", archive.folder), "go on")])
    output.say()
    if table.rows:
        output.print_table(table)
    else:
        output.say("none")
    if left_out:
        output.say(f"{left_out} more", Tone.QUIET)
    models = model_yields(archive)
    if len(models) > 1:
        output.say()
        output.print_table(models_table(models))
    for line in [*doubts.quarantined(archive.programs), *doubts.against_best(archive)]:
        output.say(line, Tone.BAD)


def _table(archive: RunReader, arguments: argparse.Namespace) -> tuple[Table, int]:
    """The table of programs or generations, and the number of lines that `--top` leaves out."""
    if arguments.all or arguments.failed:
        views = all_generations(archive, failed=arguments.failed)
        table = generations.generations_table(archive, views[: arguments.top], failed=arguments.failed)
        return table, len(views) - len(table.rows)
    programs, every = _programs(archive, arguments), archive.programs
    columns = catalogue.LISTED_PROGRAMS
    if arguments.best:
        columns, every = catalogue.BESTS, new_bests(every)
    return catalogue.programs_table(archive, programs, columns), len(every) - len(programs)
