"""`evolve patch`: apply a model's answer to a program file, and print the program that results or why there is none."""

import argparse
import sys
from pathlib import Path

from evaluator import untrusted
from evolve.errors import EvolveError, InputError, ProgramError
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
    """Apply the patch. Returns 0; 1 if the patch is refused; 2 if a file or the program in it cannot be used."""
    try:
        source, answer = _read(arguments.program), _read(arguments.patch)
        # An answer that may be of any kind is read as a fix: blocks, a <CODE> section or fenced code.
        patch = parse_patch(answer, PatchKind.FIX)
        try:
            result = apply_patch(patch, source)
        except ProgramError as error:
            raise ProgramError(f"{arguments.program}: {error}") from None
        _write(result, arguments.output)
    except EvolveError as error:
        print(untrusted.block(str(error)), file=sys.stderr)
        return error.exit_code
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def _write(source: str, output: Path | None) -> None:
    """Write the source as it is, to a file or a pipe; on a terminal its control characters are escaped."""
    if output is not None:
        try:
            output.write_bytes(source.encode("utf-8"))
        except OSError as error:
            raise InputError(f"{output}: cannot be written: {error.strerror}") from None
    elif sys.stdout.isatty():
        print(untrusted.block(source), end="")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(source.encode("utf-8"))
        sys.stdout.buffer.flush()
