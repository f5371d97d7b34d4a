"""`evolve report`: runs as one HTML file that can be sent."""

import argparse
from contextlib import ExitStack
from pathlib import Path

from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_file
from evolve.review.runs import resolve_run, run_names
from evolve.view.report import report


def run(arguments: argparse.Namespace) -> int:
    """Write the file, and end with 0. Raises InputError or MachineError when it cannot be written."""
    paths = [resolve_run(run) for run in arguments.runs]
    names = run_names(paths)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the run {one_line(name, 80)} is named twice: name it once")
    folders = dict(zip(names, paths, strict=True))
    file = arguments.output or Path(f"{next(iter(folders)) if len(folders) == 1 else 'report'}.html")
    with ExitStack() as stack:
        page = report({name: stack.enter_context(RunReader.open(folder)) for name, folder in folders.items()})
    content = page.encode("utf-8")
    write_file(file, content, overwrite=arguments.force)
    output.say(f"{file}: {', '.join(folders)}, {len(content) / 1e6:.2f} MB")
    return 0
