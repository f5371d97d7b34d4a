"""One generation as a screen: its program, or what became of the proposal, and why it was asked for as it was; behind
`evolve show`."""

import json
from collections.abc import Iterable, Mapping, Sequence

from evaluator.untrusted import one_line
from evolve.archive.calls import Asked
from evolve.archive.events import Picked
from evolve.archive.reader import RunReader
from evolve.archive.records import OPEN, AttemptRecord, ProgramRecord
from evolve.guidance.history import followed_by_answers, guidance_of
from evolve.review.calls import call_line, spending_text, usage_text
from evolve.review.estimate import prices_on_record
from evolve.review.generation_view import GenerationView
from evolve.review.meta_documents import recommendation_followed
from evolve.review.run_facts import notes_json
from evolve.review.scores import (
    change_text,
    fresh_text,
    held_out_text,
    metric_text,
    orders_text,
    sentence,
    value_text,
)
from evolve.review.table import Cell, Tone, outcome_cell
from evolve.review.texts import patch_label, short_commits, time_text
from evolve.review.verdict import strict_cell, why_not

Fields = list[tuple[str, Cell]]
"""Names and values."""


def fields(view: GenerationView) -> Fields:
    """A generation as a screen shows it, most telling first."""
    return _proposal_fields(view) if view.program is None else _program_fields(view, view.program)


def _program_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    evaluation, held_out, why = view.evaluation, view.held_out_record, view.why_overfitted
    archive = view.reader.archive
    check, is_best = archive.fresh_check(program.generation), program is archive.best
    reordered = archive.reordered(program.generation)
    fields = [
        ("score", Cell(sentence(program), Tone.STRONG if program.correct else Tone.BAD)),
        *([("at the end", Cell(orders_text(program, reordered)))] if reordered is not None else []),
        *([("held-out", Cell(f"{held_out_text(held_out)} ({held_out.suite})"))] if held_out is not None else []),
        *([("best known", Cell(program.beyond, Tone.GOOD))] if program.beyond else []),
        *([("fresh", Cell(fresh_text(check)))] if check.samples or is_best else []),
        *([("excluded", Cell("a person took it out of choice and best", Tone.BAD))] if program.excluded else []),
        *([("overfitted", Cell(why, Tone.BAD))] if why is not None else []),
        ("change", Cell(_change_text(program, view.parent))),
        ("outcome", outcome_cell(program)),
    ]
    fields += [("", Cell(line, Tone.BAD)) for line in why_not(evaluation)]
    if evaluation.strict is not None:
        fields.append(("strict", strict_cell(evaluation.strict)))
    fields += [
        ("metrics", Cell(_metrics(program.metrics))),
        *_origin_fields(view, program),
        ("recorded", Cell(time_text(view.t))),
        ("island", Cell(str(program.island))),
        ("commit", Cell(program.commit)),
        ("sandbox", Cell(evaluation.sandbox)),
    ]
    if evaluation.feedback:
        fields.append(("feedback", Cell(evaluation.feedback)))
    if evaluation.private is not None:
        fields.append(("private", Cell(json.dumps(evaluation.private, ensure_ascii=False))))
    return [*fields, *_note_fields(view)]


def _note_fields(view: GenerationView) -> Fields:
    """What people wrote about it."""
    notes = [f"{time_text(note['t'])}  {note['text']}" for note in notes_json(view.reader.archive, view.generation)]
    return [("note" if len(notes) == 1 else "notes", Cell("\n".join(notes)))] if notes else []


def _origin_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    """Where a program comes from: who wrote it, out of what, why, and what that took."""
    if not program.parents:
        return [("by", Cell("the task"))]
    fields = [("by", Cell(f"{program.origin.kind.value}, {program.origin.model}"))]
    for name, commits in (("parents", program.parents), ("inspired by", program.inspirations)):
        if commits:
            fields.append((name, Cell(_named(view.reader.archive, commits))))
    if program.origin.description:
        fields.append(("reason", Cell(program.origin.description)))
    calls = view.calls
    if len(calls) > 1 or any(sent for _, sent in calls):
        fields.append(("attempts", Cell(_attempts(calls))))
    return [*fields, *_asking_fields(view)]


def _asking_fields(view: GenerationView) -> Fields:
    """What it took to have an answer, what was recommended, and how it was asked."""
    fields, archive, questions = [], view.reader.archive, view.questions
    if view.spent:
        fields.append(("took", Cell(spending_text(view.spent))))
        fields += [("price", Cell(line)) for line in prices_on_record(archive, model=questions[0].model)]
    fields += [("searched", Cell(search_text(asked.tuning))) for asked in questions if asked.tuning is not None]
    followed = recommendation_followed(archive, view.generation)
    if followed is not None:
        fields.append(("recommended", Cell(followed)))
    if how := asked_how(view):
        fields.append(("asked", Cell("; ".join(how))))
    return fields


def search_text(tuning: Mapping[str, int]) -> str:
    """What a search over numbers took, and what it changed."""
    idle = f", {tuning['dropped']} change nothing" if tuning["dropped"] else ""
    return f"{tuning['numbers']} numbers in {tuning['evaluations']} evaluations: {tuning['changed']} changed{idle}"


def title(view: GenerationView) -> str:
    """What a generation is called on a screen."""
    if view.program is None:
        return f"Generation {view.generation}: {'not finished yet' if view.status in OPEN else 'no program came of it'}"
    return f"Generation {view.generation}: {patch_label(view.program, 200)}"


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


def _proposal_fields(view: GenerationView) -> Fields:
    """A generation that has no program: how it stands or ended, and every attempt."""
    fields = [("status", Cell(view.ended_as, Tone.PLAIN if view.status in OPEN else Tone.BAD))]
    if view.fault and view.status not in OPEN:
        fields.append(("why", Cell(one_line(view.fault, 400), Tone.BAD)))
    if view.questions:
        fields += [
            ("by", Cell(view.questions[-1].model)),
            ("parent", Cell(_named(view.reader.archive, [view.questions[-1].parent]))),
            ("attempts", Cell(_attempts(view.calls))),
            *_asking_fields(view),
        ]
    return [*fields, ("recorded", Cell(time_text(view.t))), *_note_fields(view)]


def _metrics(metrics: Mapping[str, float]) -> str:
    shown = [f"{name} {metric_text(value)}" for name, value in metrics.items() if name != "runtime_s"]
    if "runtime_s" in metrics:
        shown.append(f"{metrics['runtime_s'] * 1000:.2f} ms CPU per call")
    return ", ".join(shown)


def _change_text(program: ProgramRecord, parent: ProgramRecord | None) -> str:
    if parent is None:
        return "none: it is the initial program"
    change = change_text(program, parent)
    than = {"-": "not to be compared with", "the same": "the same as"}.get(change, f"{change} than")
    return f"{than} generation {parent.generation} ({value_text(parent.value)})"


def _named(archive: RunReader, commits: Iterable[str]) -> str:
    short = short_commits(record.commit for record in archive.programs)
    return ", ".join(f"generation {archive.find(commit).generation} ({short[commit]})" for commit in commits)


def asked_how(view: GenerationView) -> list[str]:
    """What was particular to the question, and what the answer says of the recommendation in it; empty where nothing
    was, and of the initial program, which nobody was asked for."""
    if view.asked is None:
        return []
    how = ["asked without guidance"] if view.asked.unguided else []
    how += _model(view.asked.picked, view.questions)
    given, followed = guidance_of(view.questions), followed_by_answers(view.questions)
    if given is not None and "recommendation" not in given:
        how.append("given the notes alone")
    return how if followed is None else [*how, f"followed: {followed.value}"]


_BY = {"bandit": "whose yield for its cost may be the highest", "trial": "of which too little was known"}
_UNITS = {"usd": "USD", "tokens": "tokens", "proposals": "proposals"}


def _model(picked: Picked | None, attempts: Sequence[AttemptRecord]) -> list[str]:
    """Why these models were asked, where they were not drawn by weight."""
    how = []
    repairs = [attempt for attempt in attempts if attempt.repair]
    if picked is not None and len(repairs) < len(attempts):
        how.append(f"asked of {one_line(attempts[0].model, 60)}, {_why_picked(picked)}")
    if repairs:
        what = "the program" if repairs[0] is attempts[0] else "the answer"
        how.append(f"{what} to be mended by {one_line(repairs[0].model, 60)} (repair_model)")
    return how


def _why_picked(picked: Picked) -> str:
    said = _BY[picked.by]
    if picked.reward is None or picked.cost is None or picked.unit is None:
        return f"{said}: no proposal of it had ended"
    cost = "as much as any other" if picked.unit == "proposals" else f"{picked.cost:.4g} {_UNITS[picked.unit]}"
    return f"{said}: {picked.proposals} proposals, mean reward {picked.reward:.3f}, each for {cost}"
