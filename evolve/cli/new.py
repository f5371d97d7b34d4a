"""`evolve new`: a small task of one's own that runs at once."""

import argparse
from pathlib import Path

from evaluator.places import TEMPLATES
from evolve.cli import output

DEFAULT_KIND = "answer"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = sorted(path.name for path in TEMPLATES.iterdir() if path.is_dir())
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder to make; one that exists is refused")
    parser.add_argument(
        "--kind",
        choices=kinds,
        default=DEFAULT_KIND,
        help="what the task is like: answer, where a program answers each instance at once; interactive, where it is "
        "asked item by item; script, where a script of yours runs and scores programs (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the folder, and end with 0. Raises InputError or MachineError when that cannot be."""
    from evolve.files import write_folder
    from evolve.invocation import command

    template = TEMPLATES / arguments.kind
    files = {path.name: path.read_bytes() for path in sorted(template.iterdir()) if path.is_file()}
    write_folder(arguments.folder, files)
    folder = arguments.folder
    output.say(f"{folder}: a task that runs as it is ({', '.join(files)})")
    output.say()
    output.say(command("run", "--task", folder, "--generations", "60", meaning="improve it, offline"))
    output.say(command("doctor", "--task", folder, meaning="is the task sound?"))
    return 0
