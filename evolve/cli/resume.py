"""`evolve resume`: continue a run where it stopped."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from evaluator.untrusted import one_line
from evolve.archive.archive import repair
from evolve.cli import output
from evolve.cli.conduct import conduct
from evolve.cli.options import confined, viewed
from evolve.core.completion import estimate_tokens
from evolve.core.settings import parse_settings
from evolve.loop.session import Changes, Session, nothing_required, resumed_session
from evolve.propose.tuning.baseline import require_baseline
from evolve.propose.tuning.tuner import require_size
from evolve.review.estimate import estimate, estimate_lines
from evolve.review.runs import resolve_run
from evolve.trust import refuse

# Options with the names of configuration keys.
_KEYS = ("generations", "minutes", "budget_usd", "budget_tokens", "budget_calls", "parallel", "workers")


def run(arguments: argparse.Namespace) -> int:
    """Continue a run. The exit codes are those of `run`."""
    folder = resolve_run(arguments.run_name)
    output.show_warnings()
    if arguments.tuning_baseline is not None:
        require_size(arguments.tuning_baseline, option="--tuning-baseline")
    if arguments.repair:
        output.say(repair(folder))
    settings = parse_settings(arguments.settings)
    settings |= {key: value for key in _KEYS if (value := getattr(arguments, key)) is not None}
    agree = (lambda _: True) if arguments.rescore or arguments.yes else _ask if sys.stdin.isatty() else None
    opening = resumed_session(
        folder,
        Changes(settings=settings, task_folder=arguments.task, exclude=arguments.exclude),
        trust=(lambda _: True) if arguments.trust else ask_trust if sys.stdin.isatty() else refuse,
        rescore=agree,
        tell=lambda done, of: output.say(f"Scored {done} of {of} programs again."),
        confined=confined(arguments),
        require=nothing_required if arguments.tuning_baseline is None else require_baseline,
    )
    with opening as session, viewed(folder, wanted=arguments.view):
        for line in _estimate(session):
            output.say(one_line(line, 400))
        return conduct(session, tuning_baseline=arguments.tuning_baseline)


def _estimate(session: Session) -> Iterator[str]:
    """The likely cost of the rest of the run, in lines."""
    archive, config = session.archive.reader, session.config
    source = sum(map(estimate_tokens, archive.files(archive.programs[0]).values()))
    begun, ended = archive.next_generation - 1, archive.ended - 1
    cost = estimate(config, source_tokens=source, spent=archive.spent, begun=begun, ended=ended)
    return iter(()) if cost is None else estimate_lines(cost, config)


def ask_trust(things: Sequence[str]) -> bool:
    """Ask whether somebody else's run may use the things that it names."""
    output.say("This run was not begun by you on this machine (or was changed since). It would use:")
    for thing in things:
        output.say(f"  {thing}")
    return output.agreed("Go on with all of that?")


def _ask(changed: str) -> bool:
    """Ask whether the elites are to be scored again."""
    output.say(f"Since this run stopped, {changed}.")
    return output.agreed("Score the initial program and the elites again, and go on?")
