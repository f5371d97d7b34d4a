"""What options that several commands share stand for: how programs are confined, and a page that goes with a run."""

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


def demands(arguments: argparse.Namespace) -> Demands:
    """What the options ask for."""
    return {"require_level": arguments.require_level, "unsafe": arguments.unsafe_no_sandbox}


def warn_of(level: str) -> None:
    """A red banner, each time, when programs run unconfined."""
    if level == NONE:
        output.complain("SANDBOX LEVEL NONE: programs run with your rights, and can read and change your files")


@contextmanager
def viewed(folder: Path, *, wanted: bool) -> Iterator[None]:
    """The page of a run beside it, where that is wanted."""
    if not wanted:
        yield
        return
    with page_beside(folder) as address:
        output.say(f"Showing it at {address}", whole=True)
        yield
