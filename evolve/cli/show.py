"""`evolve show`: one program of a run, or one of its texts."""

import argparse
from typing import TYPE_CHECKING, Any

from evolve.cli import output
from evolve.review.table import Tone

if TYPE_CHECKING:
    from evolve.archive.archive import Archive
    from evolve.archive.records import ProgramRecord
    from evolve.review.overview import Asked

_TEXTS = {
    "code": "its source, exactly, when the output is no terminal",
    "patch": "the patch that made it",
    "prompt": "what the model was sent",
    "answer": "what the model answered",
    "feedback": "what the evaluator tells the next proposal",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder")
    parser.add_argument("program", metavar="PROGRAM", help="a generation, `best`, or the beginning of a commit id")
    texts = parser.add_mutually_exclusive_group()
    for name, meaning in _TEXTS.items():
        texts.add_argument(f"--{name}", dest="text", action="store_const", const=name, help=meaning)
    parser.add_argument("--json", action="store_true", help="the record as JSON on stdout, with the text asked for")


def run(arguments: argparse.Namespace) -> int:
    """Show, and end with 0."""
    from evolve.archive.archive import Archive
    from evolve.review.runs import resolve_run

    folder = resolve_run(arguments.run_name)
    with Archive.open(folder, write=False) as archive:
        generation = _without_program(archive, arguments.program)
        program = archive.find(arguments.program) if generation is None else None
        number = program.generation if program is not None else int(arguments.program)
        text = None if arguments.text is None else _text(archive, program, number, arguments.text)
        if arguments.json:
            record: dict[str, Any] = {"run": folder.resolve().name, **_record(archive, program, number)}
            output.print_json(record if text is None else {**record, arguments.text: text})
        elif text is not None:
            output.print_whole(text)
        else:
            _screen(archive, program, number)
    return 0


def _without_program(archive: "Archive", name: str) -> int | None:
    """The generation called `name`, when it was proposed but did not become a program."""
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        return None
    generation = int(name)
    if generation not in archive.statuses or any(p.generation == generation for p in archive.programs):
        return None
    return generation


def _text(archive: "Archive", program: "ProgramRecord | None", generation: int, kind: str) -> str:
    """One of a generation's texts. Raises InputError when it has none of that kind."""
    from evolve.errors import InputError

    if kind in ("prompt", "answer"):
        attempts = archive.attempts(generation)
        held = getattr(attempts[-1], kind) if attempts else None
        if held is None:
            who = f" ({attempts[-1].model})" if attempts and attempts[-1].model else ""
            raise InputError(f"generation {generation} has no {kind} on record{who}")
        return archive.text(held)
    if program is None:
        status = archive.statuses[generation].value
        raise InputError(f"generation {generation} has no {kind}: it did not become a program ({status})")
    if kind == "code":
        return archive.source(program)
    if kind == "feedback":
        return archive.evaluation(program).feedback
    if not program.parents:
        raise InputError(f"generation {generation} has no patch: it is the initial program")
    return archive.patch_text(program)


def _record(archive: "Archive", program: "ProgramRecord | None", generation: int) -> dict[str, Any]:
    from evolve.review import overview

    attempts = _asked(archive, generation)
    if program is None:
        return {
            "generation": generation,
            "status": archive.statuses[generation].value,
            "attempts": [overview.attempt_json(asked) for asked in attempts],
        }
    by_commit = {record.commit: record for record in archive.programs}
    status = {"status": archive.statuses[generation].value}
    held_out = archive.held_out_scores.get(generation)
    return status | overview.program_json(program, by_commit, archive.evaluation(program), attempts, held_out)


def _asked(archive: "Archive", generation: int) -> "list[Asked]":
    """Every question put for a generation, with the HTTP attempts that it took."""
    from evolve.completion import patch_key
    from evolve.review.calls import calls_of

    return [
        (attempt, calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt))))
        for attempt in archive.attempts(generation)
    ]


def _screen(archive: "Archive", program: "ProgramRecord | None", generation: int) -> None:
    from evolve.review import overview

    attempts, status = _asked(archive, generation), archive.statuses[generation]
    by_commit = {record.commit: record for record in archive.programs}
    if program is None:
        output.say(overview.proposal_title(generation, status), Tone.STRONG)
        output.print_fields(overview.proposal_fields(status, attempts, by_commit))
        return
    output.say(overview.program_title(program), Tone.STRONG)
    held_out = archive.held_out_scores.get(generation)
    output.print_fields(overview.program_fields(program, by_commit, archive.evaluation(program), attempts, held_out))
