"""`evolve insights`: what a run has learnt, as its meta document says it."""

import argparse
from typing import TYPE_CHECKING

from evolve.cli import output
from evolve.review.table import Tone

if TYPE_CHECKING:
    from evolve.archive.archive import Archive


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder")
    parser.add_argument(
        "--at", type=int, metavar="N", help="the document in force when there were N programs (default: now)"
    )
    parser.add_argument("--json", action="store_true", help="its parts, and which prompts they went into, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Show, and end with 0, also when there is no document yet."""
    from evolve.archive.archive import Archive
    from evolve.errors import InputError
    from evolve.review.runs import resolve_run

    if arguments.at is not None and arguments.at < 0:
        raise InputError(f"--at {arguments.at}: must be a number of programs, 0 or more")
    folder = resolve_run(arguments.run_name)
    with Archive.open(folder, write=False) as archive:
        _show(archive, folder.resolve().name, at=arguments.at, as_json=arguments.json)
    return 0


def _show(archive: "Archive", name: str, *, at: int | None, as_json: bool) -> None:
    from evolve.meta.document import parse
    from evolve.review import meta_documents
    from evolve.trust import stored_config

    meta = archive.meta
    shown = meta_documents.document_at(meta, at)
    text = None if shown is None else archive.text(meta.documents[shown])
    attempts = [attempt for generation in archive.statuses for attempt in archive.attempts(generation)]
    used = {} if shown is None else meta_documents.uses(attempts, shown)
    every = stored_config(archive).meta_every
    if as_json:
        document = None if text is None else parse(text)
        record = meta_documents.insights_json(meta, shown, document, used, next_at=meta.begun + every)
        output.print_json({"run": name, **record})
        return
    if text is None:
        output.note(f"{name}: {meta_documents.absence(meta, programs=len(archive.programs), every=every, at=at)}")
    else:
        output.print_markdown(text)
        output.note("")
        _remarks(used, meta.corrections[shown] if shown is not None else ())
    for problem in meta.problems:
        output.note(f"The last round, after {meta.begun} programs, gave no document: {problem}", Tone.BAD)


def _remarks(used: dict[int, list[int]], corrections: tuple[str, ...]) -> None:
    """What stands beside a document and is no part of it."""
    for number, generations in used.items():
        listed = ", ".join(map(str, generations))
        output.note(f"Recommendation {number} went into the prompts of generations {listed}.", Tone.QUIET)
    for correction in corrections:
        output.note(f"Corrected: {correction}", Tone.QUIET)
