"""Claims: the score that a record states for a program, the score measured here, and whether the claim holds.

A claim of one of our runs holds if every instance ended as recorded, with the same exact cost. A claim of another
system's folder holds if the scores agree within TOLERANCE, and only where the formula of the claimed score is known. No
claim is judged whose score depends on a clock, or that the program could have written itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from evaluator.evaluation import OF_THE_MOMENT, Evaluation, Outcome, exceeds, headline_of_error
from evaluator.untrusted import one_line
from evolve.review.replay import compare, conclusion

TOLERANCE: Final = 1e-9
"""The largest relative difference of a folder's claim that holds: two ways of adding the same numbers."""
SCORE: Final = "combined_score"
"""The recorded number that both other systems rank programs by."""
MOST_OF_WHY: Final = 400
"""Characters of a reason."""


class ClaimVerdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    FALLS = "falls"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row of an audit: a program by its commit or id, the claimed and the measured value, and the verdict.

    The values are None where there is none, such as for a failed program; `program` is None where there is no program.
    `why` is never empty for a claim that falls or is not judged.
    """

    program: str | None
    generation: int | None
    name: str
    claimed: float | None
    measured: float | None
    verdict: ClaimVerdict
    why: str = ""

    @property
    def difference(self) -> float | None:
        """The measured value less the claimed one; None where either is missing."""
        return None if self.claimed is None or self.measured is None else self.measured - self.claimed

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; a number that JSON cannot hold is null, and `why` states it."""
        return {
            "program": self.program,
            "generation": self.generation,
            "name": self.name,
            "claimed": _finite(self.claimed),
            "measured": _finite(self.measured),
            "difference": _finite(self.difference),
            "verdict": self.verdict.value,
            "why": self.why,
        }


def count(claims: Sequence[Claim], verdict: ClaimVerdict) -> int:
    """How many claims have a verdict."""
    return sum(claim.verdict is verdict for claim in claims)


def to_json(claims: Sequence[Claim]) -> dict[str, Any]:
    """The keys of `evolve audit --json`."""
    return {
        "claims": [claim.to_json() for claim in claims],
        **{verdict.value: count(claims, verdict) for verdict in ClaimVerdict},
    }


def exit_code(claims: Sequence[Claim]) -> int:
    """1 if a claim falls, 3 if none could be judged, else 0."""
    if count(claims, ClaimVerdict.FALLS):
        return 1
    return 0 if count(claims, ClaimVerdict.HOLDS) else 3


def summary(claims: Sequence[Claim]) -> str:
    """The result of an audit in one sentence."""
    holds, falls, unjudged = (count(claims, verdict) for verdict in ClaimVerdict)
    if not holds and not falls:
        return f"None of the {len(claims)} claims could be judged."
    return f"Claims that hold: {holds}. That fall: {falls}. That could not be judged: {unjudged}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What another system's result folder states of one program.

    `numbers` has every recorded number by name, `combined_score` among them; values may be NaN or infinite. `correct`
    is None where the folder does not say. `source` is None where the folder holds no text of it, or none that can be
    read. `where_from` names the files of the folder that it was read from. `notes` are sentences about what was read,
    such as "database and folder differ: 1.2 / 1.3".
    """

    id: str
    generation: int | None
    name: str
    source: str | None
    correct: bool | None
    where_from: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """The claimed score; None where none is recorded."""
        return self.numbers.get(SCORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How a recorded number is computed: its name, in words what it is, its value and its proven bound from an
    evaluation, and its sign: 1 where larger is better, else -1."""

    number: str
    words: str
    value: Callable[[Evaluation], float | None]
    bound: Callable[[Evaluation], float | None] = lambda evaluation: None
    sign: int = 1


def claim_of_record(recorded: Evaluation, measured: Evaluation, *, program: str, generation: int, name: str) -> Claim:
    """The verdict on a recorded program of ours that was scored once more."""
    unjudged, fallen = _why_unjudged(recorded, measured), _why_fallen(recorded, measured)
    if fallen and unjudged is None and recorded.outcome in _UNREPEATABLE:
        unjudged = f"recorded as {recorded.outcome.value}, which need not repeat; here {measured.outcome.value}"
    verdict = ClaimVerdict.UNJUDGED if unjudged else ClaimVerdict.FALLS if fallen else ClaimVerdict.HOLDS
    return Claim(
        program=program,
        generation=generation,
        name=name,
        claimed=recorded.value,
        measured=measured.value,
        verdict=verdict,
        why=one_line(unjudged or fallen, MOST_OF_WHY),
    )


_UNREPEATABLE: Final = OF_THE_MOMENT | {Outcome.NONDETERMINISTIC}
"""Recorded failures of a program that claim no score, and that another evaluation need not show."""


def _why_unjudged(recorded: Evaluation, measured: Evaluation) -> str | None:
    if measured.self_judged or recorded.self_judged:
        return "self-judged: the program shares the process that makes its score"
    if measured.spread is not None or recorded.spread is not None:
        return "the score depends on a clock or on chance, and does not repeat exactly"
    if recorded.evaluator_version != measured.evaluator_version:
        versions = recorded.evaluator_version[:16], measured.evaluator_version[:16]
        return f"another evaluator made the record: version {versions[0]}, and this is {versions[1]}"
    return None


def _why_fallen(recorded: Evaluation, measured: Evaluation) -> str:
    comparison = compare(recorded, measured)
    if not comparison.equal:
        pairs = comparison.fields.items()
        fields = "; ".join(f"{name}: recorded {before!r}, measured {after!r}" for name, (before, after) in pairs)
        return f"{conclusion(recorded, measured, comparison)} {fields}"
    before, after = ({**asdict(each.objective), "metric_bound": each.metric_bound} for each in (recorded, measured))
    for name in before:  # the claimed value and its gap are read by them
        if before[name] != after[name]:
            return f"the {name} of its value: recorded {before[name]}, measured {after[name]}"
    if recorded.confirmed != measured.confirmed:
        return f"scores in other orders: recorded {recorded.confirmed}, measured {measured.confirmed}"
    return ""


def claim_of_folder(claimed: Claimed, measured: Evaluation | None, formula: Formula | None) -> Claim:
    """The verdict on a program of another system's folder. `measured` is None for a program without a text, `formula`
    where the formula of the folder's numbers is not known."""
    number = SCORE if formula is None else formula.number
    stated = claimed.numbers.get(number)
    value = None if measured is None else measured.value if formula is None else formula.value(measured)
    verdict, why = _ruling(claimed, stated, measured, value, formula)
    return Claim(
        program=claimed.id,
        generation=claimed.generation,
        name=claimed.name,
        claimed=stated,
        measured=value if measured is not None and measured.correct else None,
        verdict=verdict,
        why=one_line("; ".join(filter(None, (why, *claimed.notes))), MOST_OF_WHY),
    )


def _ruling(
    claimed: Claimed, stated: float | None, measured: Evaluation | None, value: float | None, formula: Formula | None
) -> tuple[ClaimVerdict, str]:
    if measured is None:
        return ClaimVerdict.UNJUDGED, "the folder holds no text of this program"
    if measured.self_judged or measured.spread is not None:
        return ClaimVerdict.UNJUDGED, _why_unjudged(measured, measured) or ""
    failed = "" if measured.correct else f"{measured.outcome.value}: {headline_of_error(measured.detail)}"
    if claimed.correct is False:
        if failed:
            return ClaimVerdict.HOLDS, f"recorded as incorrect; here {failed}"
        return ClaimVerdict.UNJUDGED, "recorded as incorrect, so no score is claimed; it is correct here"
    if stated is None:
        return ClaimVerdict.UNJUDGED, "the folder records no score"
    if not math.isfinite(stated):
        return ClaimVerdict.FALLS, f"the recorded score is {stated}, which is no number to rank by"
    impossible = "" if formula is None else _why_impossible(stated, formula.bound(measured), formula)
    if failed and (impossible or _is_fault(measured)):
        said = f"recorded as correct; here {failed}"
        return ClaimVerdict.FALLS, f"{impossible}; {said}" if impossible else said
    if failed:
        return ClaimVerdict.UNJUDGED, f"it does not run here, but may have run where it was recorded: {failed}"
    if formula is None or value is None:
        return ClaimVerdict.UNJUDGED, "the formula of the recorded score is not known"
    if agree(stated, value):
        return ClaimVerdict.HOLDS, ""
    return ClaimVerdict.FALLS, impossible or f"{formula.words}: recorded {stated!r}, measured {value!r}"


_FAULTS: Final = frozenset(
    {Outcome.INVALID_OUTPUT, Outcome.INFEASIBLE, Outcome.EXCEPTION, Outcome.NONDETERMINISTIC, Outcome.OK}
)
"""Outcomes that show a wrong program; others may come from limits, packages or rights that it had elsewhere. A program
whose outcome is ok and that is not correct is quarantined."""


def _is_fault(measured: Evaluation) -> bool:
    headline = headline_of_error(measured.detail)
    return measured.outcome in _FAULTS and "ModuleNotFoundError" not in headline and "ImportError" not in headline


def _why_impossible(stated: float, bound: float | None, formula: Formula) -> str:
    if bound is None or not exceeds(formula.sign * stated, formula.sign * bound):
        return ""
    where = "above" if formula.sign > 0 else "below"
    return f"{formula.words}: recorded {stated!r} is {where} the proven bound {bound!r}, so no program can reach it"


def with_reason(claim: Claim, reason: str) -> Claim:
    """A claim with a further reason at the end of `why`."""
    return replace(claim, why=one_line(f"{claim.why}; {reason}", 2 * MOST_OF_WHY))


def agree(claimed: float, measured: float) -> bool:
    """Whether two values are the same by TOLERANCE."""
    return math.isclose(claimed, measured, rel_tol=TOLERANCE)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
