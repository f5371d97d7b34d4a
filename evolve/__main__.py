"""The entry point of `python -m evolve` and of the installed command.

Python searches the current folder first (`python -m`), or anywhere (PYTHONPATH=.). A file `evaluator.py` there must not
replace the package. So this module reorders the search path before it imports any other, and `evolve/__init__.py`
imports nothing at all.
"""

import os
import signal
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run one command; returns its exit code."""
    _put_own_folder_last()
    from evaluator.signals import handle_once
    from evolve.cli.main import main as command

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handle_once(signal.SIGINT, signal.default_int_handler)
    code = command()
    if code == _INTERRUPTED:
        # A judge that hangs cannot be stopped, and the interpreter would wait for its thread.
        sys.stdout.flush()
        os._exit(code)
    return code


def _put_own_folder_last() -> None:
    """Remove the current folder from the search for modules where `python -m` put it; where PYTHONPATH names it, move
    it to the end. A checkout that this very module was loaded from stays where it is."""
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109 (pathlib is not loaded at start-up)
    except OSError:  # the folder was deleted: nothing can be found in it
        return
    if here == os.path.dirname(os.path.dirname(os.path.realpath(__file__))):  # noqa: PTH120
        return
    put_by_python = 0 if sys.flags.safe_path else 1
    first, rest = sys.path[:put_by_python], sys.path[put_by_python:]
    named = [entry for entry in rest if os.path.realpath(entry) == here]
    sys.path[:] = [
        *[entry for entry in first if os.path.realpath(entry) != here],
        *[entry for entry in rest if entry not in named],
        *named,
    ]


if __name__ == "__main__":
    sys.exit(main())
