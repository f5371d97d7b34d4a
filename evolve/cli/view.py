"""`evolve view`: the runs of a folder as pages in a browser, live."""

import argparse
import os
import socket
import sys
from pathlib import Path

from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.review.runs import RUNS, known_runs, resolve_run
from evolve.view.listening import address, listen, new_key, open_in_browser
from evolve.view.server import serve


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises InputError for a folder or a port that cannot be had."""
    beside = arguments.socket is not None
    folder, name = _what(arguments.runs)
    if beside:
        os.nice(10)
    with socket.socket(fileno=arguments.socket) if beside else listen(arguments.port) as listening:
        key = sys.stdin.readline().strip() if beside else new_key()
        where = address(listening, key, name)
        output.say(f"Showing {folder} at {where} (this machine only; Ctrl-C ends it)", whole=True)
        sys.stdout.flush()
        if not arguments.no_open:
            open_in_browser(where)

        serve(folder, listening, key, until_closed=sys.stdin.fileno() if beside else None)
    return 0


def _what(given: str | None) -> tuple[Path, str | None]:
    """The folder of the runs, and the name of the run to show first, if one was named."""
    folder = RUNS if given is None else Path(given)
    if folder.is_dir() and not (folder / "journal.jsonl").exists():
        if given is not None and not known_runs(folder):
            raise InputError(
                f"{folder} holds no runs, and is none; the runs of this folder are shown by: {command('view')}"
            )
        return folder, None
    if given is None:
        raise InputError(f"{RUNS.absolute()} holds no run yet; make one with: {command('run')}")
    found = resolve_run(given).resolve()  # a link in a folder of runs is not followed: it is shown where it leads
    return found.parent, found.name
