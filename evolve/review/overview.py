"""One program, or one proposal that came to nothing, as a screen and as a record: behind `evolve show`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.evaluation import Evaluation
from evolve.archive.records import AttemptRecord, HeldOutRecord, ProgramRecord, Status
from evolve.review.calls import Call, call_line, usage_json, usage_text
from evolve.review.catalogue import held_out_json, patch_label, program_row
from evolve.review.scores import change_text, held_out_text, metric_text, of_record, score_text, sentence
from evolve.review.table import Cell, Tone, outcome_cell
from evolve.review.verdict import failures, order_text, strict_cell, why_not

Asked = tuple[AttemptRecord, Sequence[Call]]
"""A question to a model with the HTTP attempts that it took."""


def program_json(
    program: ProgramRecord,
    by_commit: Mapping[str, ProgramRecord],
    evaluation: Evaluation,
    attempts: Sequence[Asked],
    held_out: HeldOutRecord | None,
) -> dict[str, Any]:
    """Everything on record about a program, but for its texts."""
    parent = by_commit.get(program.parents[0]) if program.parents else None
    return {
        **program_row(program),
        "held_out": held_out_json(held_out),
        "inspirations": list(program.inspirations),
        "description": program.origin.description,
        "change": None if parent is None else program.combined_score - parent.combined_score,
        "published_score": evaluation.published_score,
        "quarantine": program.quarantine,
        "strict": None if evaluation.strict is None else evaluation.strict.to_json(),
        "detail": evaluation.detail,
        "failures": failures(evaluation),
        "feedback": evaluation.feedback,
        "sandbox": evaluation.sandbox,
        "evaluator_version": evaluation.evaluator_version,
        "attempts": [attempt_json(asked) for asked in attempts],
    }


def attempt_json(asked: Asked) -> dict[str, Any]:
    """One question to a model, what it took, and what became of it, but for its texts."""
    attempt, calls = asked
    return {
        "attempt": attempt.attempt,
        "status": attempt.status.value,
        "reason": attempt.reason,
        "message": attempt.message,
        "model": attempt.model,
        **usage_json(attempt.usage),
        "finish_reason": attempt.finish_reason,
        "guidance": None if attempt.guidance is None else dict(attempt.guidance),
        "calls": [call.to_json() for call in calls],
    }


def program_fields(
    program: ProgramRecord,
    by_commit: Mapping[str, ProgramRecord],
    evaluation: Evaluation,
    attempts: Sequence[Asked],
    held_out: HeldOutRecord | None,
) -> list[tuple[str, Cell]]:
    """A program as names and values, most telling first."""
    shown = of_record(program)
    fields = [
        ("score", Cell(sentence(shown), Tone.STRONG if shown.correct else Tone.BAD)),
        *([("held-out", Cell(f"{held_out_text(held_out)} ({held_out.suite})"))] if held_out is not None else []),
        ("change", Cell(_change(program, by_commit))),
        ("outcome", outcome_cell(shown)),
    ]
    fields += [("", Cell(line, Tone.BAD)) for line in why_not(evaluation)]
    if evaluation.strict is not None:
        fields.append(("strict", strict_cell(evaluation.strict)))
        if evaluation.strict.order_scores:
            fields.append(("in other orders", Cell(order_text(evaluation.strict))))
    fields += [
        ("metrics", Cell(_metrics(shown.metrics))),
        (
            "by",
            Cell(f"{program.origin.kind.value}, {program.origin.model}" if program.parents else "the task"),
        ),
    ]
    if program.parents:
        fields.append(("parents", Cell(", ".join(_named(by_commit, commit) for commit in program.parents))))
    if program.inspirations:
        fields.append(("inspired by", Cell(", ".join(_named(by_commit, commit) for commit in program.inspirations))))
    if program.origin.description:
        fields.append(("reason", Cell(program.origin.description)))
    if len(attempts) > 1 or any(calls for _, calls in attempts):
        fields.append(("attempts", Cell(_attempts(attempts))))
    if attempts and attempts[-1][0].guidance is not None:
        fields.append(("guided by", Cell(_guided(attempts[-1][0].guidance))))
    fields += [
        ("island", Cell(str(program.island))),
        ("commit", Cell(program.commit)),
        ("sandbox", Cell(evaluation.sandbox)),
    ]
    if evaluation.feedback:
        fields.append(("feedback", Cell(evaluation.feedback)))
    return fields


def program_title(program: ProgramRecord) -> str:
    """A program's name on a screen."""
    return f"Generation {program.generation}: {patch_label(program, 200)}"


def attempt_line(attempt: AttemptRecord) -> str:
    """An attempt in one sentence."""
    line = f"attempt {attempt.attempt}: {attempt.status.value}"
    if attempt.reason is not None:
        line += f" ({attempt.reason})"
    if attempt.usage:
        line += f", {usage_text(attempt.usage)}"
    return line if attempt.message is None else f"{line}: {attempt.message}"


def _attempts(attempts: Sequence[Asked]) -> str:
    lines = []
    for attempt, calls in attempts:
        lines.append(attempt_line(attempt))
        lines += [f"  call {number}: {call_line(call)}" for number, call in enumerate(calls, 1)]
    return "\n".join(lines)


def _guided(guidance: Mapping[str, int]) -> str:
    return f"recommendation {guidance['recommendation']} of the meta document after {guidance['document']} programs"


def proposal_title(generation: int, status: Status) -> str:
    """A generation without a program, on a screen."""
    under_way = status in (Status.ASKED, Status.ANSWERED)
    return f"Generation {generation}: " + ("not finished yet" if under_way else "no program came of it")


def proposal_fields(
    status: Status, attempts: Sequence[Asked], by_commit: Mapping[str, ProgramRecord]
) -> list[tuple[str, Cell]]:
    """A generation that has no program: how it stands or ended, and every attempt."""
    under_way = status in (Status.ASKED, Status.ANSWERED)
    fields = [("status", Cell(status.value, Tone.PLAIN if under_way else Tone.BAD))]
    if attempts:
        fields += [
            ("by", Cell(attempts[-1][0].model)),
            ("parent", Cell(_named(by_commit, attempts[-1][0].parent))),
            ("attempts", Cell(_attempts(attempts))),
        ]
    return fields


def _metrics(metrics: Mapping[str, float]) -> str:
    shown = [f"{name} {metric_text(value)}" for name, value in metrics.items() if name != "runtime_s"]
    if "runtime_s" in metrics:
        shown.append(f"{metrics['runtime_s'] * 1000:.2f} ms CPU per call")
    return ", ".join(shown)


def _change(program: ProgramRecord, by_commit: Mapping[str, ProgramRecord]) -> str:
    parent = by_commit.get(program.parents[0]) if program.parents else None
    if parent is None:
        return "none: it is the initial program"
    change = change_text(program.combined_score - parent.combined_score)
    return f"{change} against generation {parent.generation} ({score_text(parent.combined_score)})"


def _named(by_commit: Mapping[str, ProgramRecord], commit: str) -> str:
    program = by_commit.get(commit)
    return commit[:8] if program is None else f"generation {program.generation} ({commit[:8]})"
