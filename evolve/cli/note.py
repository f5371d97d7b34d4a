"""`evolve note`: add a note to a program of a run; it travels with the archive."""

import argparse

from evolve.archive.archive import Archive
from evolve.archive.events import MAX_NOTE
from evolve.cli import output
from evolve.core.errors import InputError
from evolve.review.generations import generation_called
from evolve.review.runs import resolve_run


def run(arguments: argparse.Namespace) -> int:
    """Write the note, and end with 0. Raises InputError for an empty or very long text, ArchiveError while another
    process writes the run."""
    text = arguments.text.strip()
    if not text:
        raise InputError("the note is empty: give its text")
    if len(text) > MAX_NOTE:
        raise InputError(f"the note has {len(text)} characters; at most {MAX_NOTE} are allowed")
    with Archive.open(resolve_run(arguments.run_name)) as archive:
        generation = generation_called(archive.reader, arguments.program)
        archive.noted(generation, text)
    output.say(f"noted on generation {generation}")
    return 0
