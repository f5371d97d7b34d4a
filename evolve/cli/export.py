"""`evolve export`: write a program of a run to a file, or what it answered, or all generations as a table."""

import argparse

from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_file
from evolve.review.certificates import certificate_text
from evolve.review.generations import csv_text
from evolve.review.runs import resolve_run
from evolve.review.scores import sentence


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for, and end with 0. Raises InputError or MachineError when that cannot be."""
    if arguments.csv:
        if arguments.program is not None or arguments.answers is not None:
            raise InputError("--csv takes the whole run: give no PROGRAM and no --answers beside it")
        return _table(arguments)
    if arguments.program is None:
        raise InputError("which PROGRAM? name a generation, or `best`; --csv takes all of them")
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
        raise InputError("where to? -o FILE takes the program, --answers FILE what it answered")
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        program = archive.find(arguments.program)
        source = archive.source(program)
        answers = None if answers_file is None else certificate_text(archive, program)
    said = f"generation {program.generation}, {sentence(program)}"
    if program_file is not None:
        write_file(program_file, source.encode("utf-8", "surrogatepass"), overwrite=arguments.force)
        output.say(f"{program_file}: {said}")
    if answers_file is not None and answers is not None:
        write_file(answers_file, answers.encode("ascii"), overwrite=arguments.force)
        output.say(f"{answers_file}: the answers of {said}")
    return 0
