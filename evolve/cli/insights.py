"""`evolve insights`: what a run has learnt, as its meta document says it."""

import argparse

from evolve.archive.reader import RunReader
from evolve.archive.reports import markdown
from evolve.cli import output
from evolve.errors import InputError
from evolve.review import meta_documents
from evolve.review.generations import all_generations
from evolve.review.runs import resolve_run
from evolve.review.table import Tone
from evolve.review.uplift import uplift_of
from evolve.trust import stored_config


def run(arguments: argparse.Namespace) -> int:
    """Show, and end with 0, also when there is no document yet."""
    if arguments.at is not None and arguments.at < 0:
        raise InputError(f"--at {arguments.at}: must be a number of programs, 0 or more")
    folder = resolve_run(arguments.run_name)
    with RunReader.open(folder) as archive:
        _show(archive, folder.resolve().name, at=arguments.at, as_json=arguments.json)
    return 0


def _show(archive: RunReader, name: str, *, at: int | None, as_json: bool) -> None:
    meta = archive.meta
    number = meta_documents.document_at(meta, at)
    effects = meta_documents.Effects(archive)
    helped = uplift_of(archive, all_generations(archive))
    every = stored_config(archive).meta_every
    if as_json:
        record = meta_documents.insights_json(meta, number, effects, next_at=meta.begun + every)
        output.print_json({"run": name} | record | {"uplift": None if helped is None else helped.to_json()})
        return
    if number is None:
        output.note(f"{name}: {meta_documents.absence(meta, programs=len(archive.programs), every=every, at=at)}")
    else:
        report = meta.reports[number]
        output.print_markdown(markdown(report))
        output.note("")
        tried = [] if helped is None else effects.of(report)
        for place, (_, trials) in enumerate(tried, 1):
            output.note(f"Recommendation {place}: {effects.told(trials)}.", Tone.QUIET)
        for correction in meta.corrections[number]:
            output.note(f"Corrected: {correction}", Tone.QUIET)
    if helped is not None:
        output.note(f"Guidance: {helped.told}")
    for failure in meta_documents.failures(meta):
        output.note(failure, Tone.BAD)
