"""`evolve rerun`: repeat a whole run from its record, without a model, and compare."""

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
    """Rerun and compare: 0 when every event equals the recorded one, 1 with the first divergence."""
    folder = resolve_run(arguments.run_name)
    with output.progress(f"rerunning {folder.name}: generation", 0) as shown:
        result = rerun(
            folder,
            out=None if arguments.output is None else Path(arguments.output),
            workers=arguments.workers,
            task_folder=arguments.task,
            trust=(lambda _: True) if arguments.trust else ask_trust if sys.stdin.isatty() else refuse,
            tell=shown.at,
            confined=confined(arguments),
        )
    warn_of(result.sandbox[1])
    if arguments.json:
        output.print_json(telling.to_json(result))
        return 0 if result.equal else 1
    output.print_fields(telling.fields(result))
    output.say()
    for line in telling.remarks(result):
        output.say(line, Tone.QUIET)
    for line in telling.conclusion(result):
        output.say(line, Tone.GOOD if result.equal else Tone.BAD)
    return 0 if result.equal else 1
