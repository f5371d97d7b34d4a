"""`evolve lineage`: the chain of small diffs from the initial program to another."""

import argparse

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review import lineage
from evolve.review.generation_view import STEP, GenerationReader
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.review.texts import short_commits


def run(arguments: argparse.Namespace) -> int:
    """Print the chain, oldest first, and end with 0."""
    folder = resolve_run(arguments.run_name)
    with RunReader.open(folder) as archive:
        program = archive.find(arguments.program)
        steps = lineage.chain({record.commit: record for record in archive.programs}, program)
        diffs = lineage.diffs(steps, archive.source, short_commits(record.commit for record in archive.programs))
        if arguments.json:
            views = GenerationReader(archive).views(step.program.generation for step in steps)
            rows = [view.to_json(STEP) | {"diff": diff} for view, diff in zip(views, diffs, strict=True)]
            output.print_json({"run": folder.resolve().name, "program": program.commit, "steps": rows})
            return 0
        output.say(lineage.title(steps), Tone.STRONG)
        output.say()
        output.print_table(lineage.table(archive, steps))
        for step, diff in zip(steps[1:], diffs[1:], strict=True):
            output.say()
            output.say(lineage.step_title(step), Tone.STRONG)
            output.print_fields(lineage.step_fields(archive, step))
            output.print_diff(diff, exact=False)
    return 0
