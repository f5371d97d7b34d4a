"""`evolve rerun`: a whole run again from its record, without a model, and whether it comes out the same."""

import argparse
import sys
from pathlib import Path

from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.cli.resume import ask_trust
from evolve.loop.rerun import telling
from evolve.loop.rerun.driving import rerun
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.trust import refuse


def run(arguments: argparse.Namespace) -> int:
    """Do it again and compare: 0 when all of it came again as recorded, 1 with where it parts."""
    folder = resolve_run(arguments.run_name)
    with output.progress(f"rerunning {folder.name}: generation", 0) as shown:
        found = rerun(
            folder,
            out=None if arguments.output is None else Path(arguments.output),
            workers=arguments.workers,
            task_folder=arguments.task,
            trust=(lambda _: True) if arguments.trust else ask_trust if sys.stdin.isatty() else refuse,
            tell=shown.at,
            confined=confined(arguments),
        )
    warn_of(found.sandbox[1])
    if arguments.json:
        output.print_json(telling.to_json(found))
        return 0 if found.equal else 1
    output.print_fields(telling.fields(found))
    output.say()
    for line in telling.remarks(found):
        output.say(line, Tone.QUIET)
    for line in telling.conclusion(found):
        output.say(line, Tone.GOOD if found.equal else Tone.BAD)
    return 0 if found.equal else 1
