"""`evolve export`: write a program of a run, its answers, or a table of all generations to a file."""

import argparse

from evaluator.program_files import SEVERAL
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_file, write_program
from evolve.review.certificates import certificate_text
from evolve.review.generations import csv_text
from evolve.review.runs import resolve_run
from evolve.review.scores import sentence


def run(arguments: argparse.Namespace) -> int:
    """Write the files, and end with 0. Raises InputError or MachineError when they cannot be written."""
    if arguments.csv:
        if arguments.program is not None or arguments.answers is not None:
            raise InputError("--csv writes the whole run: leave out PROGRAM and --answers")
        return _table(arguments)
    if arguments.program is None:
        raise InputError("PROGRAM is missing: name a generation, or `best`; or write all of them with --csv")
    return _program(arguments)


def _table(arguments: argparse.Namespace) -> int:
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        text, count = csv_text(archive), len(archive.statuses)
    if arguments.output is None:
        output.print_whole(text)
        return 0
    write_file(arguments.output, text.encode(), overwrite=arguments.force)
    output.say(f"{arguments.output}: {count} generations")
    return 0


def _program(arguments: argparse.Namespace) -> int:
    program_file, answers_file = arguments.output, arguments.answers
    if program_file is None and answers_file is None:
        raise InputError("name a file: -o FILE for the program, --answers FILE for its answers")
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        program = archive.find(arguments.program)
        files, several = archive.files(program), archive.program_file == SEVERAL
        answers = None if answers_file is None else certificate_text(archive, program)
    description = f"generation {program.generation}, {sentence(program)}"
    if program_file is not None:
        write_program(program_file, files, several=several, overwrite=arguments.force)
        output.say(f"{program_file}: {description}")
    if answers_file is not None and answers is not None:
        write_file(answers_file, answers.encode("ascii"), overwrite=arguments.force)
        output.say(f"{answers_file}: the answers of {description}")
    return 0
