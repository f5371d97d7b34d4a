"""`evolve compare`: runs side by side, by configuration, at equal budgets."""

import argparse
from collections.abc import Mapping
from typing import Any

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review import comparison_tables
from evolve.review.comparison import comparison_json
from evolve.review.grouping import grouped, read_run
from evolve.review.runs import resolve_run, run_names
from evolve.review.table import Tone


def run(arguments: argparse.Namespace) -> int:
    """Compare, and end with 0; with 1 where the runs were not all scored alike, so that some are not compared."""
    folders = [resolve_run(run) for run in arguments.runs]
    found = []
    for name, folder in zip(run_names(folders), folders, strict=True):
        with RunReader.open(folder) as archive:
            found.append(read_run(name, archive))
    document = comparison_json(grouped(found))
    if arguments.json:
        output.print_json(document)
    else:
        print_comparison(document)
    return 0 if document["apart"] is None else 1


def print_comparison(document: Mapping[str, Any], *, diffs: bool = True) -> None:
    """Print a comparison, with how the best programs differ (`diffs`)."""
    if document["apart"] is not None:
        output.say(document["apart"], Tone.BAD)
        output.say()
    for number, together in enumerate(document["judges"]):
        if number:
            output.say()
        _print_judge(together)
        for entry in together["diffs"] if diffs else ():
            output.say()
            output.say(f"The best program of {entry['first']} and that of {entry['second']}:", Tone.STRONG)
            if entry["diff"]:
                output.print_diff(entry["diff"], exact=False)
            else:
                output.say("they are equal", Tone.QUIET)


def _print_judge(together: Mapping[str, Any]) -> None:
    output.say(comparison_tables.heading(together), Tone.STRONG)
    for line in together["remarks"]:
        output.say(line, Tone.BAD)
    output.say()
    if together["alike"] is not None:
        output.say(together["alike"])
    else:
        output.print_table(comparison_tables.differences_table(together))
    for table in (comparison_tables.runs_table(together), comparison_tables.budgets_table(together)):
        output.say()
        output.print_table(table)
    if together["sentences"]:
        output.say()
    for line in together["sentences"]:
        output.say(line, Tone.STRONG)
