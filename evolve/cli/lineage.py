"""`evolve lineage`: the chain of small diffs from the initial program to another."""

import argparse

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review import overview
from evolve.review.catalogue import STEPS, programs_table
from evolve.review.generation_view import STEP, GenerationReader
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.review.texts import short_commits


def run(arguments: argparse.Namespace) -> int:
    """Print the chain, oldest first, and end with 0."""
    folder = resolve_run(arguments.run_name)
    with RunReader.open(folder) as archive:
        program, reader = archive.find(arguments.program), GenerationReader(archive)
        line = overview.chain(archive, program)
        short = short_commits(record.commit for record in archive.programs)
        diffs = overview.diffs(line, archive.files, short)
        views = reader.views(step.generation for step in line)
        if arguments.json:
            rows = [view.to_json(STEP) | {"diff": diff} for view, diff in zip(views, diffs, strict=True)]
            output.print_json({"run": folder.resolve().name, "program": program.commit, "steps": rows})
            return 0
        output.say(overview.chain_title(line), Tone.STRONG)
        output.say()
        output.print_table(programs_table(archive, line, STEPS))
        for step, view, diff in list(zip(line, views, diffs, strict=True))[1:]:
            output.say()
            output.say(overview.title(view), Tone.STRONG)
            output.print_fields(overview.step_fields(view, step))
            output.print_diff(diff, exact=False)
    return 0
