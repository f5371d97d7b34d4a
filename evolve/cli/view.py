"""`evolve view`: the runs of a folder as live pages in a browser."""

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
    """Serve until Ctrl-C. Raises InputError for a folder or a port that cannot be used."""
    is_background = arguments.socket is not None
    folder, name = _locate(arguments.runs)
    if is_background:
        os.nice(10)
    with socket.socket(fileno=arguments.socket) if is_background else listen(arguments.port) as listening:
        key = sys.stdin.readline().strip() if is_background else new_key()
        where = address(listening, key, name)
        output.say(f"Showing {folder} at {where} (this machine only; Ctrl-C ends it)", whole=True)
        sys.stdout.flush()
        if not arguments.no_open:
            open_in_browser(where)
        serve(folder, listening, key, until_closed=sys.stdin.fileno() if is_background else None)
    return 0


def _locate(given: str | None) -> tuple[Path, str | None]:
    """The folder of the runs, and the name of the run to show first, if `given` is a run."""
    folder = RUNS if given is None else Path(given)
    if folder.is_dir() and not (folder / "journal.jsonl").exists():
        if given is not None and not known_runs(folder):
            raise InputError(
                f"{folder} is neither a run nor a folder of runs; to show the runs of this folder: {command('view')}"
            )
        return folder, None
    if given is None:
        raise InputError(f"{RUNS.absolute()} holds no run yet; make one with: {command('run')}")
    run_folder = resolve_run(given).resolve()  # the page of a folder follows no links, so show the link's target
    return run_folder.parent, run_folder.name
