"""Options that several commands share: how well programs must be confined, that they need not be; single settings."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from evaluator.sandbox.layers import NONE
from evolve.cli import output
from evolve.view.listening import page_beside


class Demands(TypedDict):
    """What an evaluator is asked for (see `evaluator.evaluator.SandboxedEvaluator`)."""

    require_level: str | None
    unsafe: bool


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Declare `--require-level` and `--unsafe-no-sandbox`. The second is for the command line alone, never a file."""
    parser.add_argument(
        "--require-level",
        choices=("standard", "strong"),
        metavar="L",
        help="refuse to run below this sandbox level (standard, strong)",
    )
    parser.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run programs even where this machine cannot confine them: for programs that you trust",
    )


def demands(arguments: argparse.Namespace) -> Demands:
    """What the options ask for."""
    return {"require_level": arguments.require_level, "unsafe": arguments.unsafe_no_sandbox}


def warn_of(level: str) -> None:
    """A red banner, each time, when programs run unconfined."""
    if level == NONE:
        output.complain("SANDBOX LEVEL NONE: programs run with your rights, and can read and change your files")


def add_settings_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare `--set KEY=VALUE`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help=f"{what}; may be repeated",
    )


def add_view_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--view`."""
    parser.add_argument("--view", action="store_true", help="show the run in a browser while this command lasts")


@contextmanager
def viewed(folder: Path, *, wanted: bool) -> Iterator[None]:
    """The page of a run beside it, where that is wanted."""
    if not wanted:
        yield
        return

    with page_beside(folder) as address:
        output.say(f"Showing it at {address}", whole=True)
        yield


def positive(text: str) -> int:
    """A whole number above 0, as an argument. Raises ArgumentTypeError."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value
