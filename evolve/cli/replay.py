"""`evolve replay`: score a program again in the sandbox, and compare with the record."""

import argparse

from evaluator.opening import open_evaluator
from evolve.apps.audit.recorded import score_again
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.review import replay
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.review.texts import short_commits
from evolve.trust import replayed_task


def run(arguments: argparse.Namespace) -> int:
    """Score and compare each instance, except for its runtime: 0 when all agree, 1 when they do not."""
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        program = archive.find(arguments.program)
        recorded, seed = archive.evaluation(program), archive.identity.get("seed", 0)
        short = short_commits(record.commit for record in archive.programs)[program.commit]
        task = replayed_task(archive, typed=arguments.task, trust=arguments.trust)
        suite = task.suite(recorded.suite)
        with open_evaluator(task, suite, workers=1, seed=seed, confined=confined(arguments)) as evaluator:
            warn_of(evaluator.sandbox)
            (replayed,) = score_again(archive, [program], evaluator)
    comparison = replay.compare(recorded, replayed)
    if arguments.json:
        output.print_json(replay.to_json(program, recorded, replayed, comparison))
    else:
        output.say(replay.title(program, short), Tone.STRONG)
        output.print_table(replay.table(recorded, replayed))
        output.say()
        if comparison.differences:
            output.print_table(replay.differences_table(comparison))
            output.say()
        for line in replay.remarks(recorded, replayed, comparison):
            output.say(line, Tone.QUIET)
        output.say(replay.conclusion(recorded, replayed, comparison), Tone.GOOD if comparison.equal else Tone.BAD)
    return 0 if comparison.equal else 1
