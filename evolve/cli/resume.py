"""`evolve resume`: go on with a run where it stopped."""

import argparse

from evolve.cli.sandbox_options import add_sandbox_options, demands


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("run_name", metavar="RUN", help="a run's folder or name")
    parser.add_argument("--generations", type=int, metavar="N", help="a new limit, counted from the run's beginning")
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Go on with a run. Exit codes as of `run`."""
    from evolve.cli.conduct import conduct
    from evolve.errors import InputError
    from evolve.review.runs import resolve_run
    from evolve.run.session import resumed_session

    if arguments.generations is not None and arguments.generations < 1:
        raise InputError(f"--generations {arguments.generations}: must be at least 1")
    folder = resolve_run(arguments.run_name)
    with resumed_session(folder, generations=arguments.generations, **demands(arguments)) as session:
        return conduct(session)
