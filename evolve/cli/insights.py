"""`evolve insights`: the insights report of a run, in short or whole."""

import argparse
import shutil
from collections.abc import Iterable, Iterator
from typing import Final

from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.archive.reports import InsightsReport, markdown, shown
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.review import insights_reports
from evolve.review.generation_view import GenerationView
from evolve.review.generations import all_generations
from evolve.review.runs import resolve_run
from evolve.review.scores import change_text
from evolve.review.table import Tone
from evolve.review.uplift import uplift_of
from evolve.trust import stored_config

_GAINS, _POINTS, _FAILURES, _NEXT = 2, 2, 2, 3
"""Lines under each heading of the short form, which has 15 lines in all."""
_WIDE: Final = 160
"""The length of a line without a terminal."""
_LONGEST_WORD: Final = 30
"""A longer word may be cut, so that a text without blanks is shown too."""


def run(arguments: argparse.Namespace) -> int:
    """Print the report, and end with 0, also when there is none yet."""
    if arguments.at is not None and arguments.at < 0:
        raise InputError(f"--at {arguments.at}: must be a number of programs, 0 or more")
    folder = resolve_run(arguments.run_name)
    with RunReader.open(folder) as archive:
        _show(archive, folder.resolve().name, arguments)
    return 0


def _show(archive: RunReader, name: str, arguments: argparse.Namespace) -> None:
    meta, at, views = archive.meta, arguments.at, all_generations(archive)
    number = insights_reports.report_at(meta, at)
    effects = insights_reports.Effects(archive)
    helped = uplift_of(archive, views)
    every = stored_config(archive).meta_every
    if arguments.json:
        record = insights_reports.insights_json(meta, number, effects, next_at=meta.begun + every)
        output.print_json({"run": name} | record | {"uplift": None if helped is None else helped.to_json()})
        return
    if number is None:
        output.note(f"{name}: {insights_reports.absence(meta, programs=len(archive.programs), every=every, at=at)}")
    elif not arguments.all:
        heading = f"{name}: the insights report after {number} programs, in short"
        output.say(heading, Tone.STRONG)
        covered = {program.generation for program in archive.programs[:number]}
        for line in _short_form(meta.reports[number], [view for view in views if view.generation in covered]):
            output.say(line, Tone.PLAIN if line.startswith(" ") else Tone.STRONG, whole=True)
        words = ("insights", archive.folder, "--all", *(() if at is None else ("--at", str(at))))
        output.print_commands([(command(*words), "the whole report")])
    else:
        report = meta.reports[number]
        output.print_markdown(markdown(report))
        output.note("")
        tried = [] if helped is None else effects.of(report)
        for place, (_, trials) in enumerate(tried, 1):
            output.note(f"Recommendation {place}: {effects.describe(trials)}.", Tone.QUIET)
        for correction in meta.corrections[number]:
            output.note(f"Corrected: {correction}", Tone.QUIET)
    if helped is not None:
        output.note(f"Guidance: {helped.describe()}")
    for failure in insights_reports.failures(meta):
        output.note(failure, Tone.BAD)


def _short_form(report: InsightsReport, views: Iterable[GenerationView]) -> Iterator[str]:
    """The largest gains in their authors' words, then what the report says of successes, failures and next steps."""
    helped, failed, *_ = report.scratchpad.sections
    gained = sorted(
        (view for view in views if (view.value_change or 0) > 0), key=lambda view: -(view.value_change or 0)
    )
    gains = [f"generation {view.generation}, {_change(view)}: {view.why}" for view in gained[:_GAINS]]
    if report.warning:
        yield f"  {_line(report.warning)}"
    for heading, lines in (
        ("What helped", [*gains, *(shown(point.text) for point in helped[:_POINTS])]),
        ("What did not help", [shown(point.text) for point in failed[:_FAILURES]]),
        ("What is next", [shown(each.whole) for each in report.recommendations[:_NEXT]]),
    ):
        yield heading
        yield from (f"  {_line(line)}" for line in lines or ["nothing yet"])


def _change(view: GenerationView) -> str:
    assert view.program is not None
    return change_text(view.program, view.credit.base)


def _line(text: str) -> str:
    """A text on one line of the terminal, without the signs of Markdown."""
    line = one_line(text.replace("**", "").replace("`", ""), 1000)
    wide = max(shutil.get_terminal_size((_WIDE, 0)).columns - 2, 4)
    if len(line) <= wide:
        return line
    blank = line.rfind(" ", max(1, wide - 2 - _LONGEST_WORD), wide - 1)
    return f"{line[: blank if blank > 0 else wide - 2]} …"
