"""`evolve diff`: the changes between two programs of a run."""

import argparse

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.review.runs import resolve_run
from evolve.review.scores import sentence
from evolve.review.table import Tone
from evolve.review.texts import diff_of_files, program_label, short_commits


def run(arguments: argparse.Namespace) -> int:
    """Print the unified diff from A to B, and end with 0."""
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        before, after = archive.find(arguments.before), archive.find(arguments.after)
        short = short_commits(program.commit for program in archive.programs)
        names = [program_label(program, short) for program in (before, after)]
        diff = diff_of_files(archive.files(before), archive.files(after), *names)
        if not diff:
            output.note(f"the sources of generations {before.generation} and {after.generation} are equal")
            return 0
        for sign, program in (("-", before), ("+", after)):
            output.note(f"{sign} generation {program.generation}: {sentence(program)}", Tone.QUIET)
        output.print_diff(diff)
    return 0
