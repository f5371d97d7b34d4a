"""Options that several commands share: the sandbox, the endpoint of a model, and the page of a run."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from evaluator.sandbox.layers import NONE
from evaluator.sandbox.options import SandboxOptions
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.view.listening import background_page


def confined(arguments: argparse.Namespace) -> SandboxOptions:
    """The sandbox options of a command."""
    return SandboxOptions(require_level=arguments.require_level, unsafe=arguments.unsafe_no_sandbox)


def endpoint_keys(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keys that --base-url and --api-key-env set for the models of --model. An endpoint other than OpenAI's gets no
    key unless --api-key-env names it. Raises InputError without a model."""
    if arguments.base_url is None and arguments.api_key_env is None:
        return {}
    if not arguments.models:
        option = "--api-key-env" if arguments.base_url is None else "--base-url"
        raise InputError(f"{option}: sets the server of a model; name the model too, with --model NAME")
    base_url = {} if arguments.base_url is None else {"base_url": arguments.base_url}
    return {**base_url, "api_key_env": arguments.api_key_env}


def warn_of(level: str) -> None:
    """Print a red banner when programs run unconfined."""
    if level == NONE:
        output.complain("SANDBOX LEVEL NONE: programs run with your rights, and can read and change your files")


@contextmanager
def viewed(folder: Path, *, wanted: bool) -> Iterator[None]:
    """Serve the page of a run while it goes on, where that is wanted."""
    with background_page(folder) if wanted else nullcontext() as address:
        if address is not None:
            output.say(f"Showing it at {address}", whole=True)
        yield
