"""Questions and the programs that answer them go on record, for the loop and for a command outside of it."""

from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import HeldOutRecord, ProgramRecord
from evolve.completion import Followed
from evolve.judging.evaluators import Confirmation, EvaluatorPair
from evolve.patch.format import format_patch
from evolve.program import Origin
from evolve.proposal import Choice
from evolve.propose.building import NewProgram


def record_question(
    archive: Archive, number: int, attempt: int, choice: Choice, *, prompt: str | None, **further: Any
) -> None:
    """Record what is asked for as generation `number`; `further` is what else `Archive.asked` takes."""
    archive.asked(
        number,
        attempt,
        kind=choice.kind.value,
        island=choice.island,
        parents=[choice.parent.commit],
        inspirations=[inspiration.commit for inspiration in choice.inspirations],
        model=choice.model,
        prompt=prompt,
        **further,
    )


def record_program(
    archive: Archive,
    evaluators: EvaluatorPair,
    number: int,
    attempt: int,
    choice: Choice,
    program: NewProgram,
    confirmation: Confirmation,
    followed: Followed | None = None,
) -> tuple[ProgramRecord, HeldOutRecord | None]:
    """Record a program with its verdict, and of a new best what it scores on the twin."""
    record = archive.evaluated(
        number,
        attempt,
        source=program.source,
        patch_text=format_patch(program.patch),
        origin=Origin(
            kind=choice.kind,
            model=choice.model,
            patch_name=program.patch.name,
            description=program.patch.description,
            features=program.features,
        ),
        parents=[choice.parent.commit],
        inspirations=[inspiration.commit for inspiration in choice.inspirations],
        island=choice.island,
        source_hash=program.source_hash,
        evaluation=confirmation.evaluation,
        followed=followed,
    )
    if archive.best is record and confirmation.held_out is not None:
        return record, evaluators.record_held_out(archive, number, confirmation.held_out)
    return record, None
