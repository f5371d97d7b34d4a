"""`evolve run`: begin a run and watch it."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evaluator.task_files import built_in_tasks, load_task
from evaluator.untrusted import one_line
from evolve.apps.importing.bridge import import_hint
from evolve.archive.git import require_git
from evolve.cli import output
from evolve.cli.conduct import conduct
from evolve.cli.options import confined, endpoint_keys, viewed
from evolve.core.completion import estimate_tokens
from evolve.core.config import Config, render_config
from evolve.core.errors import InputError
from evolve.core.settings import configured
from evolve.core.usage import Spending
from evolve.loop.session import new_session, nothing_required
from evolve.opening import initial_files, open_llm
from evolve.propose.limiter import Limiters
from evolve.propose.tuning.baseline import require_baseline
from evolve.propose.tuning.tuner import require_size, require_tunable
from evolve.propose.waking import WakingEvent
from evolve.review.estimate import estimate, estimate_lines
from evolve.review.runs import new_run_folder


def run(arguments: argparse.Namespace) -> int:
    """Begin a run. 0 done, 1 not one proposal succeeded, 130 interrupted."""
    # Options with the names of configuration keys; --model gives names only.
    given = {key: value for key, value in vars(arguments).items() if key in Config.model_fields and key != "models"}
    with _with_import_hint(arguments.config):
        config = configured(
            arguments.config,
            settings=arguments.settings,
            values={key: value for key, value in given.items() if value is not None},
            models=arguments.models or None,
            endpoint=endpoint_keys(arguments),
        )
    if arguments.print_config:
        sys.stdout.write(render_config(config))
        return 0
    if arguments.tuning_baseline is not None:
        require_size(arguments.tuning_baseline, option="--tuning-baseline")
    require_git()  # before anything is asked
    output.show_warnings()
    if config.task not in built_in_tasks() and (hint := import_hint(Path(config.task), as_task=True)) is not None:
        raise InputError(f"{config.task}: cannot be run as it is; {hint}")
    if arguments.tuning_baseline is not None:
        require_tunable(load_task(config.task), what="--tuning-baseline")
    folder = new_run_folder(config, arguments.name)
    if not _agreed(config, yes=arguments.yes):
        return 130
    opening = new_session(
        config,
        folder,
        numbered=arguments.name is None,
        confined=confined(arguments),
        require=nothing_required if arguments.tuning_baseline is None else require_baseline,
        fix_initial=arguments.fix_initial,
    )
    with ExitStack() as stack:
        with output.progress("scoring the initial program"):
            session = stack.enter_context(opening)
        stack.enter_context(viewed(session.archive.folder, wanted=arguments.view))
        return conduct(session, tuning_baseline=arguments.tuning_baseline)


def _agreed(config: Config, *, yes: bool) -> bool:
    """Print the likely cost of the run, and ask a person at a terminal whether to go on."""
    program = initial_files(config, load_task(config.task))
    cost = estimate(config, source_tokens=sum(map(estimate_tokens, program.values())), spent=Spending())
    if cost is None:
        return True
    for model in config.models:
        if model.client is None:  # a missing key is an error before the question
            open_llm(model, seed=config.seed, stopping=WakingEvent(), limiters=Limiters(), keys=config.key_variables)
    for line in estimate_lines(cost, config):
        output.say(one_line(line, 400))
    is_free = cost.at_most_usd == 0
    if yes or is_free or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return output.agreed("Go on?")


@contextmanager
def _with_import_hint(config_file: str | None) -> Iterator[None]:
    """Around reading a configuration file: for one of another system the error says how to convert it, and lists no
    wrong keys. Raises InputError."""
    try:
        yield
    except InputError:
        hint = None if config_file is None else import_hint(Path(config_file), as_task=False)
        if hint is None:
            raise
        raise InputError(f"{config_file}: cannot be run as it is; {hint}") from None
