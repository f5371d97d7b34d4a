"""`evolve export`: write a program of a run, its answers, a table of all generations, or a patch."""

import argparse

from evaluator.program_files import SEVERAL
from evolve.apps.repository.returning import message_text, patch_text
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.core.files import write_file, write_program
from evolve.review.certificates import certificate_text
from evolve.review.generations import csv_text
from evolve.review.runs import resolve_run
from evolve.review.scores import sentence
from evolve.trust import replayed_task


def run(arguments: argparse.Namespace) -> int:
    """Write the files, and end with 0. Raises InputError or MachineError when they cannot be written."""
    if arguments.csv:
        if arguments.program is not None or arguments.answers is not None:
            raise InputError("--csv writes the whole run: leave out PROGRAM and --answers")
        return _table(arguments)
    if arguments.program is None:
        raise InputError("PROGRAM is missing: name a generation, or `best`; or write all of them with --csv")
    if arguments.patch or arguments.message:
        return _of_repository(arguments)
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


def _of_repository(arguments: argparse.Namespace) -> int:
    """Write the patch, or the text for a pull request."""
    if arguments.patch and arguments.message:
        raise InputError("--patch and --message: write one of the two at a time")
    with RunReader.open(resolve_run(arguments.run_name)) as archive:
        program = archive.find(arguments.program)
        if archive.program_file != SEVERAL:
            raise InputError(f"--patch: a program of this run is one file; write it with -o {archive.program_file}")
        if arguments.patch:
            text = patch_text(archive, program)
        else:
            rest = arguments.program, "--message"
            task = replayed_task(archive, typed=arguments.task, trust=arguments.trust, verb="export", rest=rest)
            if task.repository is None:
                raise InputError(f"--message: the task {task.name!r} is not made of a repository")
            text = message_text(archive, program, task.repository)
    if arguments.output is None:
        output.print_whole(text)
        return 0
    write_file(arguments.output, text.encode("utf-8", "surrogateescape"), overwrite=arguments.force)
    output.say(f"{arguments.output}: the {'patch' if arguments.patch else 'text'} of generation {program.generation}")
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
