"""The audit of a file of answers: what each is worth exactly, and whether it is worth what it seems."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from evaluator.task import Task
from evaluator.untrusted import one_line
from evolve.apps.audit.answers import DIGITS, JudgedAnswer, JudgedFile, Rank, decimal_text
from evolve.apps.audit.claims import MOST_OF_WHY, Claim, ClaimVerdict, agree
from evolve.core.errors import InputError


def claims_of_answers(judged: JudgedFile, stated: float | None) -> list[Claim]:
    """A row for each answer. The claim is the `stated` value of the file's only answer, or else the value that the
    answer has before any repair. Raises InputError for one stated value of several answers."""
    if stated is not None and len(judged.answers) != 1:
        raise InputError(f"{judged.path}: has {len(judged.answers)} answers, and --claimed states the value of one")
    return [_claim(judged, answer, stated) for answer in judged.answers]


def _claim(judged: JudgedFile, answer: JudgedAnswer, stated: float | None) -> Claim:
    if stated is None and answer.given is not None:
        stated = float(answer.given.value)
    verdict, why = ClaimVerdict.FALLS, f"{answer.outcome.value}: {answer.detail}"
    if answer.value is not None:
        holds = stated is None or agree(stated, float(answer.value))
        verdict = ClaimVerdict.HOLDS if holds else ClaimVerdict.FALLS
        reasons = [] if holds else [f"its exact value is {answer.digits}"]
        why = "; ".join([*reasons, *_why_invalid(answer)])
    return Claim(
        program=judged.key or judged.path.name,
        generation=None,
        name=answer.description,
        claimed=stated,
        measured=None if answer.value is None else float(answer.value),
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
    same = ", ".join(listed.where_from for listed in rank.same)
    better = "" if rank.next_better is None else f"; the next better one: {rank.next_better.where_from}"
    return [("place", f"{rank.position} among {rank.listed} listed values{better}{f'; as {same}' if same else ''}")]


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
