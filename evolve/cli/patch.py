"""`evolve patch`: apply a model's answer to a program file, and print the program that results or why there is none."""

import argparse
import sys
from pathlib import Path

from evaluator import untrusted
from evolve.cli.output import print_whole
from evolve.errors import InputError, PatchError, ProgramError
from evolve.patch import apply_patch, parse_patch
from evolve.program import PatchKind


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("program", metavar="PROGRAM_FILE", type=Path, help="the program to patch, a Python file")
    parser.add_argument(
        "patch", metavar="PATCH_FILE", type=Path, help="a model's answer: SEARCH/REPLACE blocks or code"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", type=Path, help="write the new source to this file, not to stdout"
    )


def run(arguments: argparse.Namespace) -> int:
    """Apply the patch. Returns 0, or 1 with the reason on stderr if it is refused.

    Raises InputError if a file, or the program in it, cannot be used.
    """
    source, answer = _read(arguments.program), _read(arguments.patch)
    try:
        # An answer that may be of any kind is read as a fix: blocks, a <CODE> section or fenced code.
        result = apply_patch(parse_patch(answer, PatchKind.FIX), source)
    except PatchError as refusal:
        print(f"Patch refused ({refusal.reason}). {untrusted.block(str(refusal))}", file=sys.stderr)
        return refusal.exit_code
    except ProgramError as error:
        raise ProgramError(f"{arguments.program}: {error}") from None
    if arguments.output is None:
        print_whole(result)
    else:
        _write(result, arguments.output)
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def _write(source: str, path: Path) -> None:
    try:
        path.write_bytes(source.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
