"""`evolve patch`: apply a model's answer to a program, and print the new program or why there is none."""

import argparse
import sys

from evaluator import untrusted
from evaluator.program_files import ProgramFolder
from evolve.cli.output import print_whole
from evolve.core.errors import PatchError, ProgramError
from evolve.core.files import read_text, write_file, write_program
from evolve.core.program import PatchKind
from evolve.lang.languages import language_of
from evolve.patch import apply_patch, apply_to_files, parse_patch
from evolve.review.texts import diff_of_files


def run(arguments: argparse.Namespace) -> int:
    """Apply the patch. Returns 0, or 1 with the reason on stderr if it is refused.

    Raises InputError if a file, or the program in it, cannot be used.
    """
    if arguments.program.is_dir():
        return _patch_folder(arguments)
    source, answer = read_text(arguments.program), read_text(arguments.patch)
    try:
        # A fix may have every form of answer: blocks, a <CODE> section or fenced code.
        result = apply_patch(parse_patch(answer, PatchKind.FIX), source, language_of(arguments.program))
    except PatchError as refusal:
        return _refused(refusal)
    except ProgramError as error:
        raise ProgramError(f"{arguments.program}: {error}") from None
    if arguments.output is None:
        print_whole(result)
    else:
        write_file(arguments.output, result.encode("utf-8"), overwrite=arguments.force)
    return 0


def _patch_folder(arguments: argparse.Namespace) -> int:
    """Apply the patch to the files of a folder: print the difference, or write them all to a new folder."""
    rules, answer = ProgramFolder(folder=arguments.program, edit=("**",), may_add=True), read_text(arguments.patch)
    before = rules.read()
    try:
        after = apply_to_files(parse_patch(answer, PatchKind.FIX, several=True), before, rules)
    except PatchError as refusal:
        return _refused(refusal)
    except ProgramError as error:
        raise ProgramError(f"{arguments.program}: {error}") from None
    if arguments.output is None:
        print_whole(diff_of_files(before, after, "before", "after"))
    else:
        write_program(arguments.output, after, several=True, overwrite=False)
    return 0


def _refused(refusal: PatchError) -> int:
    print(f"Patch refused ({refusal.reason}). {untrusted.block(str(refusal))}", file=sys.stderr)
    return refusal.exit_code
