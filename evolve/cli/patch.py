"""`evolve patch`: apply a model's answer to a program file, and print the new program or why there is none."""

import argparse
import sys

from evaluator import untrusted
from evolve.cli.output import print_whole
from evolve.core.errors import PatchError, ProgramError
from evolve.core.files import read_text, write_file
from evolve.core.program import PatchKind
from evolve.lang.languages import language_of
from evolve.patch import apply_patch, parse_patch


def run(arguments: argparse.Namespace) -> int:
    """Apply the patch. Returns 0, or 1 with the reason on stderr if it is refused.

    Raises InputError if a file, or the program in it, cannot be used.
    """
    source, answer = read_text(arguments.program), read_text(arguments.patch)
    try:
        # A fix may have every form of answer: blocks, a <CODE> section or fenced code.
        result = apply_patch(parse_patch(answer, PatchKind.FIX), source, language_of(arguments.program))
    except PatchError as refusal:
        print(f"Patch refused ({refusal.reason}). {untrusted.block(str(refusal))}", file=sys.stderr)
        return refusal.exit_code
    except ProgramError as error:
        raise ProgramError(f"{arguments.program}: {error}") from None
    if arguments.output is None:
        print_whole(result)
    else:
        write_file(arguments.output, result.encode("utf-8"), overwrite=arguments.force)
    return 0
