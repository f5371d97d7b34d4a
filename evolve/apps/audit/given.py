"""The audit of a file of answers: what each is worth exactly, and whether it is worth what it seems."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evaluator.objective import Direction
from evaluator.task import Task
from evaluator.untrusted import one_line
from evolve.apps.audit.answers import DIGITS, JudgedAnswer, JudgedFile, Rank, decimal_text
from evolve.apps.audit.claims import MOST_OF_WHY, Claim, ClaimVerdict, agree
from evolve.core.errors import InputError


def claims_of_answers(task: Task, judged: JudgedFile, stated: str | None) -> list[Claim]:
    """A row for each answer. The claim is the decimal number `stated` for the file's only answer. Without it, the claim
    is the value that the answer has before any repair; where the task repairs none, that it is valid.

    Raises InputError for one stated value of several answers.
    """
    if stated is not None and len(judged.answers) != 1:
        raise InputError(f"{judged.path}: has {len(judged.answers)} answers, and --claimed states the value of one")
    return [_claim(judged, answer, stated, task.objective.per_instance) for answer in judged.answers]


def reaches(value: Fraction, claimed: str, direction: Direction) -> bool:
    """Whether a value is as good as the claim, or rounds to it at the claim's own digits."""
    stated = Decimal(claimed)
    lead = direction.sign * (value - Fraction(stated))
    return lead >= 0 or round(value, -int(stated.as_tuple().exponent)) == Fraction(stated)


def _claim(judged: JudgedFile, answer: JudgedAnswer, stated: str | None, direction: Direction) -> Claim:
    claimed = None if stated is None else float(stated)
    if stated is None and answer.given is not None:
        claimed = float(answer.given.value)
    verdict, why = ClaimVerdict.FALLS, f"{answer.outcome.value}: {answer.detail}"
    if (value := answer.value) is not None:
        holds = reaches(value, stated, direction) if stated else claimed is None or agree(claimed, float(value))
        verdict = ClaimVerdict.HOLDS if holds else ClaimVerdict.FALLS
        reasons = [] if holds else [f"this answer does not reach the value stated for it: it has {answer.digits}"]
        reasons += ["it is valid; no value was stated for it (--claimed)"] if claimed is None else []
        why = "; ".join([*reasons, *_why_invalid(answer)])
    return Claim(
        program=judged.key or judged.path.name,
        generation=None,
        name=answer.description,
        claimed=claimed,
        measured=None if value is None else float(value),
        verdict=verdict,
        why=one_line(why, MOST_OF_WHY),
    )


def _why_invalid(answer: JudgedAnswer) -> list[str]:
    if answer.valid or answer.given is None:
        return []
    least = f"{float(answer.given.tolerance):.2g}"
    return [f"valid only with a tolerance of {least} or more ({answer.given.why}), so it was repaired"]


def fields(task: Task, judged: JudgedFile) -> Sequence[tuple[str, str]]:
    """What a person reads about the file: the suite, and of each answer its exact value and its place."""
    metric = task.objective.metric.replace("_", " ")
    lines = [("task", f"{task.name}, suite {judged.suite}")]
    for answer in judged.answers:
        if answer.value is None:
            continue
        if answer.given is not None and not answer.valid:
            lines.append(("as given", f"{decimal_text(answer.given.value, DIGITS)}, which needs a tolerance"))
        lines.append((metric if judged.rank and len(judged.answers) == 1 else answer.description, answer.digits))
        lines += _place(answer.rank)
    return [*lines, *_place(judged.rank)]


def _place(rank: Rank | None) -> list[tuple[str, str]]:
    if rank is None:
        return []
    behind = f"{rank.position} (better listed values: {rank.position - 1} of {rank.listed})"
    same = f"; the same as {', '.join(listed.where_from for listed in rank.same)}" if rank.same else ""
    better = "" if rank.next_better is None else f"; the next better one is {rank.next_better.where_from}"
    return [("place", f"{behind}{same}{better}")]


def details(judged: JudgedFile) -> dict[str, Any]:
    """The further keys of `evolve audit ANSWER --json`."""
    return {
        "suite": judged.suite,
        "answers": [
            {
                "instance": answer.instance,
                "exact": _exact(answer.value),
                "digits": answer.digits or None,
                "valid": answer.valid,
                "tolerance": None if answer.tolerance is None else float(answer.tolerance),
                "as_given": None if answer.given is None else decimal_text(answer.given.value, DIGITS),
                "rank": _rank_json(answer.rank),
            }
            for answer in judged.answers
        ],
        "rank": _rank_json(judged.rank),
    }


def _exact(value: Fraction | None) -> str | None:
    """The exact value, unless it has more digits than Python writes."""
    try:
        return None if value is None else str(value)
    except ValueError:
        return None


def _rank_json(rank: Rank | None) -> dict[str, Any] | None:
    if rank is None:
        return None
    better = None if rank.next_better is None else rank.next_better.where_from
    return {"position": rank.position, "listed": rank.listed, "next_better": better}
