"""`evolve run`: begin a run and watch it."""

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

from evolve.cli.configuration import add_settings_option
from evolve.cli.sandbox_options import add_sandbox_options, demands

RUNS = Path("runs")

# Options that are configuration keys by another name: each ends up in the configuration, and nowhere else.
_KEYS = ("task", "suite", "generations", "budget_usd", "minutes", "parallel", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("config", nargs="?", metavar="CONFIG.yaml", help="configuration; options override it")
    parser.add_argument("--name", help="folder under ./runs (default: task, suite and time)")
    parser.add_argument("--task", help="a built-in task, or a folder with task.yaml")
    parser.add_argument("--suite", help="the suite to score on")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        dest="models",
        metavar="M",
        help="a model of the configuration, one at OpenAI, or scripted:FILE; may be repeated (none: offline)",
    )
    parser.add_argument("--generations", type=int, metavar="N", help="stop after N proposals")
    parser.add_argument("--budget-usd", type=float, metavar="X", help="stop before more than this is spent")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop after M minutes")
    parser.add_argument("--parallel", type=int, metavar="K", help="proposals in flight; 1 makes a run repeatable")
    parser.add_argument("--seed", type=int, help="drives every random choice (default 0)")
    add_settings_option(parser, "any key of the configuration, dotted (search.elites=20)")
    add_sandbox_options(parser)
    parser.add_argument("--print-config", action="store_true", help="print the resolved configuration and stop")


def run(arguments: argparse.Namespace) -> int:
    """Begin a run. 0 done, 1 not one proposal succeeded, 130 interrupted."""
    from evolve.cli.conduct import conduct
    from evolve.cli.configuration import read_document
    from evolve.config import build_config, render_config
    from evolve.run.session import new_session

    document, origin = read_document(
        arguments.config,
        settings=arguments.settings,
        values={key: getattr(arguments, key) for key in _KEYS},
        models=arguments.models,
    )
    config = build_config(document, origin=origin)
    if arguments.print_config:
        sys.stdout.write(render_config(config))
        return 0
    with new_session(config, _folder(arguments.name, config), **demands(arguments)) as session:
        return conduct(session)


def _folder(name: str | None, config: Any) -> Path:
    from evaluator.task_files import load_task
    from evolve.errors import InputError

    if name is not None:
        plain = name == Path(name).name and name.isprintable() and not name.startswith((".", "-"))
        if not name or not plain or len(name.encode("utf-8", "surrogatepass")) > 200:
            raise InputError(
                f"--name {name[:80]!r}: must be the plain name of a folder: printable, at most 200 bytes, "
                "without '/' and without a leading '.' or '-'"
            )
        return RUNS / name
    task = load_task(config.task)
    base = f"{task.name}-{config.suite or task.default_suite}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2)))
    return next(RUNS / candidate for candidate in names if not (RUNS / candidate).exists())
