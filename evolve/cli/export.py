"""`evolve export`: write a program of a run to a file."""

import argparse
from pathlib import Path

from evolve.cli import output


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder")
    parser.add_argument("program", metavar="PROGRAM", help="a generation, `best`, or the beginning of a commit id")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def run(arguments: argparse.Namespace) -> int:
    """Write the source, byte for byte, and end with 0. Raises InputError or MachineError when that cannot be."""
    from evolve.archive.archive import Archive
    from evolve.files import write_file
    from evolve.review.runs import resolve_run
    from evolve.review.scores import of_record, sentence

    with Archive.open(resolve_run(arguments.run_name), write=False) as archive:
        program = archive.find(arguments.program)
        source = archive.source(program)
    write_file(arguments.output, source.encode("utf-8", "surrogatepass"), overwrite=arguments.force)
    output.say(f"{arguments.output}: generation {program.generation}, {sentence(of_record(program))}")
    return 0
