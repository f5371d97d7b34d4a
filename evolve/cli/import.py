"""`evolve import`: make a run of a result folder of another system."""  # noqa: N999 - the name of the command

import argparse
from pathlib import Path

from evaluator.untrusted import one_line
from evolve.apps.importing.bridge import OPENEVOLVE, SHINKA
from evolve.apps.results.archiving import ImportListener, import_results
from evolve.apps.results.folder import read_results
from evolve.apps.results.values import ResultFolder
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.cli.live import checking_line
from evolve.cli.options import confined
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.core.settings import configured
from evolve.progress import Checking, Warned
from evolve.review.catalogue import headline
from evolve.review.runs import new_run_folder
from evolve.review.texts import counted

_SHOWN = 10
"""Notes that are printed."""
_EVALUATORS = {"ShinkaEvolve": (SHINKA, "evaluate.py"), "OpenEvolve": (OPENEVOLVE, "evaluator.py")}


def run(arguments: argparse.Namespace) -> int:
    """Make the run, and end with 0."""
    results = read_results(arguments.folder)
    if arguments.task is None:
        raise InputError(f"--task: which task scores these programs? {_which_task(results)}")
    given = {key: getattr(arguments, key) for key in ("task", "suite", "workers")}
    values = {key: value for key, value in given.items() if value is not None}
    config = configured(None, values=values)
    folder = new_run_folder(config, arguments.name)
    with output.progress("evaluated", len(results.programs)) as shown:

        def done(number: int, of: int) -> None:
            shown.at(number, of)

        listener = ImportListener(done=done, tell=_tell)
        unnoted = import_results(results, config, folder, confined=confined(arguments), listener=listener)
    _print(results, folder, unnoted)
    return 0


def _which_task(results: ResultFolder) -> str:
    """What to give as the task: a built-in one, or the folder's own evaluator."""
    option, name = _EVALUATORS[results.system]
    places = (results.folder, results.folder.absolute().parent)
    source = next((place for place in places if (place / name).is_file()), Path("DIR"))
    own = command("new", "TASK", option, source)
    return f"Name a built-in one, or a folder of your own; for the evaluator that they had there: {own}"


def _tell(event: Checking | Warned) -> None:
    output.note(checking_line(event) if isinstance(event, Checking) else one_line(event.message, 400))


def _print(results: ResultFolder, folder: Path, unnoted: str | None) -> None:
    without = sum(program.claimed.source is None for program in results.programs)
    for note in results.notes[:_SHOWN]:
        output.note(note)
    if len(results.notes) > _SHOWN:
        output.note(f"and {len(results.notes) - _SHOWN} more notes")
    if unnoted is not None:
        output.note(unnoted)
    with RunReader.open(folder) as archive:
        output.say(headline(folder.name, archive))
        output.say(
            f"imported from {results.system}; the scores of the folder are claims, ours are measured here"
            + (f"; {counted(without, 'program')} without a usable text were left out" if without else "")
            + (f"; {counted(len(results.reports), 'report')}" if results.reports else "")
        )
    output.print_commands(
        [
            (command("list", folder.name), "the programs, each with its claim"),
            (command("report", folder.name), "the run as a page"),
        ]
    )
