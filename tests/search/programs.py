"""Programs for the tests of the search, each with a behaviour of its own."""

from typing import Any

from evaluator.evaluation import Outcome
from evolve.archive.records import ProgramRecord
from evolve.core.program import PatchKind
from tests.builders import make_origin, make_record


def program(
    generation: int,
    score: float,
    *,
    correct: bool = True,
    behaviour: str | None = None,
    kind: PatchKind = PatchKind.DIFF,
    **changes: Any,
) -> ProgramRecord:
    return make_record(
        generation,
        score,
        outcome=Outcome.OK if correct else Outcome.INFEASIBLE,
        origin=make_origin(kind, model="offline", patch_name=f"step_{generation}", description=""),
        ceiling=30.0,
        metrics={},
        behaviour=behaviour or f"behaviour-{generation}",
        **changes,
    )
