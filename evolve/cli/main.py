"""The `evolve` command: runs the module of a command, and turns errors into one sentence and an exit code.

Exit codes: 0 done; 1 the thing checked does not hold; 2 wrong use or bad input; 3 the machine or the environment
lacks something; 130 interrupted; 141 the reader of the output went away.
"""

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from evaluator.errors import EvaluatorError
from evaluator.untrusted import one_line
from evolve import __version__
from evolve.cli.arguments import COMMANDS
from evolve.core.errors import EvolveError, UserCommandError
from evolve.core.invocation import command


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with the command for help."""

    def error(self, message: str) -> NoReturn:
        see = command(*self.prog.split()[1:], "--help")
        self.exit(2, f"{self.prog}: {one_line(message, 600)} (see: {see})\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code; argparse itself exits for --help and wrong use."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = _parse(words)
        module = importlib.import_module(f"evolve.cli.{parsed.command}")
        code: int = module.run(parsed)
        sys.stdout.flush()
    except (EvolveError, EvaluatorError) as error:
        from evolve.cli.output import complain

        complain(str(error), below=error.output if isinstance(error, UserCommandError) else "")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("evolve: interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe: the exit code that a shell gives for this signal.
        _drop_output()
        return 141
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT) or error.filename is not None:
            raise
        _drop_output()
        sys.stderr.write(f"evolve: the output cannot be written ({error.strerror})\n")
        return 3
    return code


def _drop_output() -> None:
    """Discard the rest of stdout's buffer, which cannot be written any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(words: list[str]) -> argparse.Namespace:
    """Parse the command line. Only the called command declares its arguments, and its module is not imported yet.
    Without any words the help is shown."""
    called = next((word for word in words if not word.startswith("-")), None)
    parser = _Parser(
        prog="evolve",
        description="LLM-driven algorithm discovery with scores you can trust.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # a command must not be broken into two lines
        epilog=f"begin here:\n  {command('run', meaning='needs no key')}\n"
        f"  {command('run', '--help', meaning='what a command takes')}",
    )
    parser.add_argument("--version", action="version", version=f"evolve {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    chosen = parser
    for name, (summary, declare) in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == called:
            declare(subparser)
            subparser.set_defaults(command=name)
            chosen = subparser
    if called is not None and chosen is parser:
        from difflib import get_close_matches

        similar = get_close_matches(called, COMMANDS, n=1, cutoff=0.5)
        guess = f"; did you mean {command(similar[0])}?" if similar else ""
        parser.error(f"there is no command {called!r}{guess}")
    parsed, unknown = parser.parse_known_args(words or ["--help"])
    if unknown:
        chosen.error(f"unrecognized arguments: {' '.join(unknown)}")
    return parsed
