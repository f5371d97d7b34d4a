"""What options that several commands share stand for: how programs are confined, and a page that goes with a run."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluator.sandbox.layers import NONE
from evaluator.sandbox.options import SandboxOptions
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.view.listening import page_beside


def confined(arguments: argparse.Namespace) -> SandboxOptions:
    """What the options ask of the sandbox."""
    return SandboxOptions(require_level=arguments.require_level, unsafe=arguments.unsafe_no_sandbox)


def endpoint_keys(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keys that --base-url and --api-key-env set for the models that --model names. Another endpoint than OpenAI's
    gets a key only where one is named. Raises InputError where no model is named."""
    if arguments.base_url is None and arguments.api_key_env is None:
        return {}
    if not arguments.models:
        option = "--api-key-env" if arguments.base_url is None else "--base-url"
        raise InputError(f"{option}: says where a model is; name the model too, with --model NAME")
    base_url = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    return {**base_url, "api_key_env": arguments.api_key_env}


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
