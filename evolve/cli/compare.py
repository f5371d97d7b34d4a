"""`evolve compare`: runs side by side, by configuration, at equal budgets."""

import argparse

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review import comparison, comparison_tables, grouping
from evolve.review.grouping import JudgedTogether
from evolve.review.runs import resolve_run, run_names
from evolve.review.table import Tone


def run(arguments: argparse.Namespace) -> int:
    """Compare, and end with 0; with 1 where the runs were not all scored alike, so that some are not compared."""
    folders = [resolve_run(run) for run in arguments.runs]
    found = []
    for name, folder in zip(run_names(folders), folders, strict=True):
        with RunReader.open(folder) as archive:
            found.append(grouping.read_run(name, archive))
    judged = grouping.grouped(found)
    apart = grouping.told_apart(judged)
    if arguments.json:
        output.print_json(comparison.comparison_json(judged))
        return 0 if apart is None else 1
    if apart is not None:
        output.say(apart, Tone.BAD)
        output.say()
    for number, together in enumerate(judged):
        if number:
            output.say()
        _screen(together)
    return 0 if apart is None else 1


def _screen(together: JudgedTogether) -> None:
    output.say(comparison_tables.heading(together), Tone.STRONG)
    for line in grouping.remarks(together):
        output.say(line, Tone.BAD)
    output.say()
    if (said := grouping.alike(together)) is not None:
        output.say(said)
    else:
        output.print_table(comparison_tables.differences_table(together))
    output.say()
    output.print_table(comparison_tables.runs_table(together))
    output.say()
    output.print_table(comparison_tables.budgets_table(together))
    told = comparison_tables.sentences(together)
    if told:
        output.say()
    for line in told:
        output.say(line, Tone.STRONG)
    for entry in comparison.final_diffs(together):
        output.say()
        output.say(f"The best program of {entry['first']} and that of {entry['second']}:", Tone.STRONG)
        if entry["diff"]:
            output.print_diff(entry["diff"], exact=False)
        else:
            output.say("they are equal", Tone.QUIET)
