"""One program, or one proposal that came to nothing, as a screen and as a record, and why it was asked for as it was:
behind `evolve show`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.archive.calls import Asked, spending_of, usage_json
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, ProgramRecord, Status
from evolve.guidance.history import followed_by_answers, guidance_of
from evolve.review.calls import asked_for, call_line, spending_text, usage_text
from evolve.review.catalogue import fresh_json, held_out_json, patch_label, program_row, why_overfitted
from evolve.review.estimate import prices_on_record
from evolve.review.generations import OPEN, taken
from evolve.review.meta_documents import recommendation_followed
from evolve.review.run_facts import notes_json
from evolve.review.scores import (
    change_of,
    change_text,
    fresh_text,
    held_out_text,
    metric_text,
    sentence,
    value_text,
)
from evolve.review.table import Cell, Tone, outcome_cell
from evolve.review.texts import short_commits, time_text
from evolve.review.verdict import failures, order_text, strict_cell, why_not


def program_json(archive: RunReader, program: ProgramRecord) -> dict[str, Any]:
    """Everything on record about a program, but for its texts."""
    return {
        "status": archive.statuses[program.generation].value,
        **program_row(program),
        **taken(archive, program.generation),
        "picked": _picked(archive, program.generation),
        "inspirations": list(program.inspirations),
        "features": list(program.origin.features),
        "change": _change(archive, program),
        **verdict_json(archive, program),
        "attempts": [attempt_json(asked) for asked in asked_for(archive, program.generation)],
        "notes": notes_json(archive, program.generation),
    }


def verdict_json(archive: RunReader, program: ProgramRecord) -> dict[str, Any]:
    """What a program is for, and what was found when it was evaluated: the keys that its page has too."""
    evaluation = archive.evaluation(program)
    names = ("published_score", "detail", "feedback", "private", "sandbox", "evaluator_version")
    return {
        "description": program.origin.description,
        "quarantine": program.quarantine,
        "held_out": held_out_json(archive.held_out_scores.get(program.generation)),
        "fresh": fresh_json(archive, program),
        "strict": None if evaluation.strict is None else evaluation.strict.to_json(),
        "failures": failures(evaluation),
        **{name: getattr(evaluation, name) for name in names},
    }


def proposal_json(archive: RunReader, generation: int) -> dict[str, Any]:
    """Everything on record about a generation without a program, but for its texts."""
    return {
        "generation": generation,
        "status": archive.statuses[generation].value,
        **taken(archive, generation),
        "picked": _picked(archive, generation),
        "attempts": [attempt_json(asked) for asked in asked_for(archive, generation)],
        "notes": notes_json(archive, generation),
    }


def _picked(archive: RunReader, generation: int) -> dict[str, Any] | None:
    """Why of that model (see evolve.proposal.Picked); None where it was drawn by weight, and of the initial program."""
    found = archive.generation(generation).why.get("picked") if archive.attempts(generation) else None
    return None if found is None else dict(found)


def attempt_json(asked: Asked) -> dict[str, Any]:
    """One question to a model, what it took, and what became of it, but for its texts."""
    attempt, calls = asked
    return {
        "attempt": attempt.attempt,
        "status": attempt.status.value,
        "reason": attempt.reason,
        "message": attempt.message,
        "model": attempt.model,
        "repair": "repair" in attempt.departs,
        **usage_json(attempt.usage),
        "finish_reason": attempt.finish_reason,
        "tuning": None if attempt.tuning is None else dict(attempt.tuning),
        "guidance": None if attempt.guidance is None else dict(attempt.guidance),
        "followed": attempt.followed,
        "calls": [call.to_json() for call in calls],
    }


def program_fields(archive: RunReader, program: ProgramRecord) -> list[tuple[str, Cell]]:
    """A program as names and values, most telling first."""
    evaluation = archive.evaluation(program)
    held_out = archive.held_out_scores.get(program.generation)
    check, why = archive.fresh_check(program.generation), why_overfitted(archive, program)
    is_best = program is archive.best
    fields = [
        ("score", Cell(sentence(program), _tone(program))),
        *([("held-out", Cell(f"{held_out_text(held_out)} ({held_out.suite})"))] if held_out is not None else []),
        *([("best known", Cell(program.beyond, Tone.GOOD))] if program.beyond else []),
        *([("fresh", Cell(fresh_text(check)))] if check.samples or is_best else []),
        *([("excluded", Cell("a person took it out of choice and best", Tone.BAD))] if program.excluded else []),
        *([("overfitted", Cell(why, Tone.BAD))] if why is not None else []),
        ("change", Cell(_change_text(archive, program))),
        ("outcome", outcome_cell(program)),
    ]
    fields += [("", Cell(line, Tone.BAD)) for line in why_not(evaluation)]
    if evaluation.strict is not None:
        fields.append(("strict", strict_cell(evaluation.strict)))
        if evaluation.strict.order_scores:
            fields.append(("in other orders", Cell(order_text(evaluation.strict))))
    fields += [
        ("metrics", Cell(_metrics(program.metrics))),
        *_origin_fields(archive, program),
        ("recorded", Cell(time_text(archive.times[program.generation]))),
        ("island", Cell(str(program.island))),
        ("commit", Cell(program.commit)),
        ("sandbox", Cell(evaluation.sandbox)),
    ]
    if evaluation.feedback:
        fields.append(("feedback", Cell(evaluation.feedback)))
    if evaluation.private is not None:
        fields.append(("private", Cell(json.dumps(evaluation.private, ensure_ascii=False))))
    return [*fields, *_note_fields(archive, program.generation)]


def _tone(program: ProgramRecord) -> Tone:
    return Tone.STRONG if program.correct else Tone.BAD


def _note_fields(archive: RunReader, generation: int) -> list[tuple[str, Cell]]:
    """What people wrote beside it."""
    notes = notes_json(archive, generation)
    return [("note" if len(notes) == 1 else "notes", Cell("\n".join(map(_note_line, notes))))] if notes else []


def _note_line(note: Mapping[str, Any]) -> str:
    return f"{time_text(note['t'])}  {note['text']}"


def _origin_fields(archive: RunReader, program: ProgramRecord) -> list[tuple[str, Cell]]:
    """Where a program comes from: who wrote it, out of what, why, and what that took."""
    if not program.parents:
        return [("by", Cell("the task"))]
    short = short_commits(record.commit for record in archive.programs)
    fields = [("by", Cell(f"{program.origin.kind.value}, {program.origin.model}"))]
    for name, commits in (("parents", program.parents), ("inspired by", program.inspirations)):
        if commits:
            fields.append((name, Cell(", ".join(_named(archive, short, commit) for commit in commits))))
    if program.origin.description:
        fields.append(("reason", Cell(program.origin.description)))
    return [*fields, *_asking_fields(archive, program.generation)]


def _asking_fields(archive: RunReader, generation: int) -> list[tuple[str, Cell]]:
    """What it took to have an answer, what was recommended, and how it was asked."""
    attempts = asked_for(archive, generation)
    spent = spending_of(attempts)
    fields = []
    if len(attempts) > 1 or any(calls for _, calls in attempts):
        fields.append(("attempts", Cell(_attempts(attempts))))
    if spent:
        fields.append(("took", Cell(spending_text(spent))))
        fields += [("price", Cell(line)) for line in prices_on_record(archive, model=attempts[0][0].model)]
    fields += [("searched", Cell(search_text(attempt.tuning))) for attempt, _ in attempts if attempt.tuning is not None]
    followed = recommendation_followed(archive, generation)
    if followed is not None:
        fields.append(("recommended", Cell(followed)))
    if how := asked_how(archive, generation):
        fields.append(("asked", Cell("; ".join(how))))
    return fields


def search_text(tuning: Mapping[str, int]) -> str:
    """What a search over numbers took, and what it changed."""
    idle = f", {tuning['dropped']} change nothing" if tuning["dropped"] else ""
    return f"{tuning['numbers']} numbers in {tuning['evaluations']} evaluations: {tuning['changed']} changed{idle}"


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


def proposal_title(generation: int, status: Status) -> str:
    """A generation without a program, on a screen."""
    return f"Generation {generation}: " + ("not finished yet" if status in OPEN else "no program came of it")


def proposal_fields(archive: RunReader, generation: int) -> list[tuple[str, Cell]]:
    """A generation that has no program: how it stands or ended, and every attempt."""
    status, attempts = archive.statuses[generation], archive.attempts(generation)
    fields = [("status", Cell(status.value, Tone.PLAIN if status in OPEN else Tone.BAD))]
    if attempts:
        short = short_commits(record.commit for record in archive.programs)
        fields += [
            ("by", Cell(attempts[-1].model)),
            ("parent", Cell(_named(archive, short, attempts[-1].parent))),
            ("attempts", Cell(_attempts(asked_for(archive, generation)))),
            *(field for field in _asking_fields(archive, generation) if field[0] != "attempts"),
        ]
    recorded = ("recorded", Cell(time_text(archive.times[generation])))
    return [*fields, recorded, *_note_fields(archive, generation)]


def _metrics(metrics: Mapping[str, float]) -> str:
    shown = [f"{name} {metric_text(value)}" for name, value in metrics.items() if name != "runtime_s"]
    if "runtime_s" in metrics:
        shown.append(f"{metrics['runtime_s'] * 1000:.2f} ms CPU per call")
    return ", ".join(shown)


def _change(archive: RunReader, program: ProgramRecord) -> float | None:
    return program.combined_score - archive.find(program.parents[0]).combined_score if program.parents else None


def _change_text(archive: RunReader, program: ProgramRecord) -> str:
    if not program.parents:
        return "none: it is the initial program"
    parent = archive.find(program.parents[0])
    change = change_text(change_of(program, parent))
    return f"{change} against generation {parent.generation} ({value_text(parent.value)})"


def _named(archive: RunReader, short: Mapping[str, str], commit: str) -> str:
    return f"generation {archive.find(commit).generation} ({short[commit]})"


def asked_how(archive: RunReader, generation: int) -> list[str]:
    """What was particular to the question, and what the answer says of the recommendation in it; empty where nothing
    was, and of the initial program, which nobody was asked for."""
    attempts = archive.attempts(generation)
    if not attempts:
        return []
    asked = archive.generation(generation)
    told = ["asked without guidance"] if asked.unguided else []
    told += _model(asked.why.get("picked"), attempts)
    given, followed = guidance_of(attempts), followed_by_answers(attempts)
    if given is not None and "recommendation" not in given:
        told.append("given the notes alone")
    return told if followed is None else [*told, f"followed: {followed.value}"]


_BY = {"bandit": "whose yield for its cost may be the highest", "trial": "of which too little was known"}
_UNITS = {"usd": "USD", "tokens": "tokens", "proposals": "proposals"}


def _model(picked: Mapping[str, Any] | None, attempts: Sequence[AttemptRecord]) -> list[str]:
    """Why these models were asked, where they were not drawn by weight."""
    told = []
    repairs = [attempt for attempt in attempts if "repair" in attempt.departs]
    if picked is not None and len(repairs) < len(attempts):
        told.append(f"asked of {one_line(attempts[0].model, 60)}, {_why_picked(picked)}")
    if repairs:
        what = "the program" if repairs[0] is attempts[0] else "the answer"
        told.append(f"{what} to be mended by {one_line(repairs[0].model, 60)} (repair_model)")
    return told


def _why_picked(picked: Mapping[str, Any]) -> str:
    said = _BY[picked["by"]]
    if not picked.get("proposals"):
        return f"{said}: no proposal of it had ended"
    cost = f"{picked['cost']:.4g} {_UNITS[picked['unit']]}" if picked["unit"] != "proposals" else "as much as any other"
    return f"{said}: {picked['proposals']} proposals, mean reward {picked['reward']:.3f}, each for {cost}"
