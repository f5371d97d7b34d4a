"""`evolve list`: the runs there are, or the programs of one."""

import argparse
from typing import Any

from evolve.cli import output
from evolve.review.table import Tone


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_name", nargs="?", metavar="RUN", help="a run's name or folder; without it: the runs")
    parser.add_argument("--sort", metavar="K", help="score (default), generation, gap, or a metric, best first")
    parser.add_argument("--top", type=_positive, metavar="N", help="the first N programs")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def run(arguments: argparse.Namespace) -> int:
    """List, and end with 0."""
    if arguments.run_name is None:
        return _runs(arguments)
    return _programs(arguments)


def _runs(arguments: argparse.Namespace) -> int:
    from evolve.archive.archive import Archive
    from evolve.errors import ArchiveError, InputError, MachineError
    from evolve.invocation import command
    from evolve.review import catalogue
    from evolve.review.runs import RUNS, known_runs

    if arguments.sort is not None or arguments.top is not None:
        raise InputError("--sort and --top order the programs of one run: name the RUN")
    rows: list[dict[str, Any]] = []
    unreadable: list[dict[str, str]] = []
    for name in known_runs():
        try:
            with Archive.open(RUNS / name, write=False) as archive:
                rows.append(catalogue.run_row(name, archive.identity, archive.programs, archive.best, archive.finished))
        except (ArchiveError, MachineError) as cause:
            unreadable.append({"run": name, "reason": str(cause)})
    if arguments.json:
        output.print_json({"runs": rows, "unreadable": unreadable})
        return 0
    for entry in unreadable:
        output.complain(f"{entry['run']} cannot be read: {entry['reason']}")
    if rows:
        output.print_table(catalogue.runs_table(rows))
    elif not unreadable:
        output.say(f"{RUNS.absolute()} holds no run yet; make one with: {command('run')}")
    return 0


def _programs(arguments: argparse.Namespace) -> int:
    from evolve.archive.archive import Archive
    from evolve.review import catalogue
    from evolve.review.runs import resolve_run
    from evolve.review.scores import ordered

    folder = resolve_run(arguments.run_name)
    with Archive.open(folder, write=False) as archive:
        programs = ordered(archive.programs, arguments.sort or "score")[: arguments.top]
        if arguments.json:
            output.print_json(
                {
                    "run": folder.resolve().name,
                    "task": archive.identity["task"],
                    "suite": archive.identity["suite"],
                    "fingerprint": archive.fingerprint(),
                    "programs": [
                        catalogue.program_row(program)
                        | {"held_out": catalogue.held_out_json(archive.held_out_scores.get(program.generation))}
                        for program in programs
                    ],
                }
            )
            return 0
        output.say(
            catalogue.headline(folder.resolve().name, archive.identity, archive.programs, archive.best), Tone.STRONG
        )
        output.say(catalogue.state(archive.finished, archive.statuses), Tone.QUIET)
        output.say()
        output.print_table(catalogue.programs_table(programs, archive.best, archive.held_out_scores))
        if len(programs) < len(archive.programs):
            output.say(f"{len(archive.programs) - len(programs)} more", Tone.QUIET)
        for line in catalogue.quarantined(archive.programs):
            output.say(line, Tone.BAD)
    return 0


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value
