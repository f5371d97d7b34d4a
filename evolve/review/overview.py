"""A generation as a screen, and a lineage as a chain of steps: behind `evolve show` and `evolve lineage`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from evaluator.program_files import Files
from evaluator.untrusted import one_line
from evolve.archive.calls import Asked
from evolve.archive.events import ModelChoice
from evolve.archive.reader import RunReader
from evolve.archive.records import OPEN, AttemptRecord, ProgramRecord
from evolve.core.program import PatchKind
from evolve.insights.outcomes import followed_by_answers, guidance_of
from evolve.review.calls import call_line, spending_text, usage_text
from evolve.review.catalogue import gain_cell
from evolve.review.estimate import prices_on_record
from evolve.review.generation_view import GenerationView
from evolve.review.insights_reports import recommendation_followed
from evolve.review.run_facts import notes_json
from evolve.review.scores import (
    change_text,
    claim_text,
    fresh_text,
    held_out_text,
    metric_text,
    orders_text,
    remeasured_text,
    sentence,
    value_text,
)
from evolve.review.table import Cell, Fields, Tone, known_fields, outcome_cell
from evolve.review.texts import counted, diff_of_files, patch_label, program_label, short_commits, time_text
from evolve.review.verdict import strict_cell, why_not
from evolve.review.workers import evaluated_on_text, on_host


def fields(view: GenerationView) -> Fields:
    """A generation as a screen shows it, most telling first."""
    return _proposal_fields(view) if view.program is None else _program_fields(view, view.program)


def _program_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    archive, evaluation, calls = view.reader.archive, view.evaluation, view.calls
    check, reordered = archive.fresh_check(program.generation), archive.reordered.get(program.generation)
    why, private, remeasured = view.why_overfitted, evaluation.private, archive.remeasured.get(program.generation)
    return known_fields(
        ("score", Cell(sentence(program), Tone.STRONG if program.correct else Tone.BAD)),
        ("claimed", None if program.claimed is None else claim_text(program.claimed)),
        ("at the end", None if reordered is None else orders_text(program, reordered)),
        ("measured", None if remeasured is None else remeasured_text(remeasured)),
        ("held-out", held_out_field(view)),
        ("best known", None if program.beyond is None else Cell(program.beyond, Tone.GOOD)),
        ("fresh", fresh_text(check) if check.samples or program is archive.best else None),
        (
            "excluded",
            Cell("by a person: it can be neither a parent nor the best", Tone.BAD) if program.excluded else None,
        ),
        ("overfitted", None if why is None else Cell(why, Tone.BAD)),
        ("change", _change_text(program, view.parent)),
        ("outcome", outcome_cell(program)),
        *(("", Cell(line, Tone.BAD)) for line in why_not(evaluation)),
        ("strict", None if evaluation.strict is None else strict_cell(evaluation.strict)),
        ("metrics", f"{_metrics(program.metrics)}{on_host(program.on)}"),
        ("evaluated", evaluated_on_text(program.on, self_judged=program.self_judged)),
        ("by", author(program) if program.origin.model else "the task" if program.claimed is None else None),
        ("parents", _named(archive, program.parents)),
        ("inspired by", _named(archive, program.inspirations)),
        ("description", program.origin.description if program.parents else None),
        ("attempts", _attempts(calls) if len(calls) > 1 or any(sent for _, sent in calls) else None),
        *_asking_fields(view),
        ("recorded", time_text(view.t)),
        ("island", str(program.island)),
        ("commit", program.commit),
        ("sandbox", evaluation.sandbox),
        ("feedback", evaluation.feedback),
        ("private", None if private is None else json.dumps(private, ensure_ascii=False)),
        _note_field(view),
    )


def _proposal_fields(view: GenerationView) -> Fields:
    """A generation without a program: its status and every attempt."""
    archive, last, ended = view.reader.archive, view.questions[-1], view.status not in OPEN
    return known_fields(
        ("status", Cell(view.ended_as, Tone.BAD if ended else Tone.PLAIN)),
        ("why", Cell(one_line(view.fault, 400), Tone.BAD) if view.fault and (ended or view.is_machine_lost) else None),
        ("by", last.model),
        ("parent", _named(archive, [last.parent])),
        ("attempts", _attempts(view.calls)),
        *_asking_fields(view),
        ("recorded", time_text(view.t)),
        _note_field(view),
    )


def held_out_field(view: GenerationView) -> str | None:
    """The score of its program on the held-out suite, with the suite's name."""
    held_out = view.held_out_record
    return None if held_out is None else f"{held_out_text(held_out)} ({held_out.suite})"


def author(program: ProgramRecord) -> str:
    """The kind of patch and the model behind a program."""
    return f"{program.origin.kind.value}, {program.origin.model}"


def _note_field(view: GenerationView) -> tuple[str, str]:
    """The notes that people wrote about it."""
    notes = [f"{time_text(note['t'])}  {note['text']}" for note in notes_json(view.reader.archive, view.generation)]
    return "note" if len(notes) == 1 else "notes", "\n".join(notes)


def _asking_fields(view: GenerationView) -> Fields:
    """The cost of its answers, the recommendation in its prompt, and how it was requested."""
    archive, questions = view.reader.archive, view.questions
    return known_fields(
        ("took", spending_text(view.spent) if view.spent else None),
        *(("price", line) for line in (prices_on_record(archive, model=questions[0].model) if view.spent else ())),
        *(("searched", search_text(asked.tuning)) for asked in questions if asked.tuning is not None),
        ("recommended", recommendation_followed(archive, view.generation)),
        ("asked", "; ".join(asked_how(view))),
    )


def search_text(tuning: Mapping[str, int]) -> str:
    """The cost and the changes of a search over numbers."""
    idle = f", {tuning['dropped']} change nothing" if tuning["dropped"] else ""
    return f"{tuning['numbers']} numbers in {tuning['evaluations']} evaluations: {tuning['changed']} changed{idle}"


def title(view: GenerationView) -> str:
    """The title of a generation on a screen."""
    if view.program is None:
        return f"Generation {view.generation}: {'not finished yet' if view.status in OPEN else 'no program'}"
    return f"Generation {view.generation}: {patch_label(view.program, 200)}"


def attempt_line(attempt: AttemptRecord) -> str:
    """An attempt in one sentence."""
    line = f"attempt {attempt.attempt + 1}: {attempt.status.value}"
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


def _metrics(metrics: Mapping[str, float]) -> str:
    shown = [f"{name} {metric_text(value)}" for name, value in metrics.items() if name != "runtime_s"]
    if "runtime_s" in metrics:
        shown.append(f"{metrics['runtime_s'] * 1000:.2f} ms CPU per call")
    return ", ".join(shown)


def _change_text(program: ProgramRecord, parent: ProgramRecord | None) -> str:
    if parent is None:
        return f"none: {'no parent is on record' if program.generation else 'it is the initial program'}"
    change = change_text(program, parent)
    than = {"-": "not comparable with", "the same": "the same as"}.get(change, f"{change} than")
    return f"{than} generation {parent.generation} ({value_text(parent.value)})"


def _named(archive: RunReader, commits: Iterable[str]) -> str:
    short = short_commits(record.commit for record in archive.programs)
    return ", ".join(f"generation {archive.find(commit).generation} ({short[commit]})" for commit in commits)


def asked_how(view: GenerationView) -> list[str]:
    """What was special about the question, and whether the answer followed its recommendation; empty if nothing was,
    and for the initial program."""
    if view.asked is None:
        return []
    how = ["asked without guidance"] if view.asked.unguided else []
    how += _model(view.asked.picked, view.questions)
    given, followed = guidance_of(view.questions), followed_by_answers(view.questions)
    if given is not None and "recommendation" not in given:
        how.append("given the notes alone")
    return how if followed is None else [*how, f"followed: {followed.value}"]


_BY = {"bandit": "which may improve most for its cost", "trial": "to learn more about it"}
_UNITS = {"usd": "USD", "tokens": "tokens", "proposals": "proposals"}


def _model(picked: ModelChoice | None, attempts: Sequence[AttemptRecord]) -> list[str]:
    """Why these models were asked, if they were not drawn by weight."""
    how = []
    repairs = [attempt for attempt in attempts if attempt.repair]
    if picked is not None and len(repairs) < len(attempts):
        how.append(f"asked {one_line(attempts[0].model, 60)}, {_why_picked(picked)}")
    if repairs:
        subject = "the program" if repairs[0] is attempts[0] else "the answer"
        how.append(f"{subject} was given to {one_line(repairs[0].model, 60)} for repair (repair_model)")
    return how


def _why_picked(picked: ModelChoice) -> str:
    reason = _BY[picked.by]
    if picked.reward is None or picked.cost is None or picked.unit is None:
        return f"{reason}: none of its proposals had ended"
    cost = "the same cost as others" if picked.unit == "proposals" else f"{picked.cost:.4g} {_UNITS[picked.unit]} each"
    return f"{reason}: {picked.proposals} proposals, mean reward {picked.reward:.3f}, {cost}"


def chain(archive: RunReader, program: ProgramRecord) -> list[ProgramRecord]:
    """The programs from the initial one to `program`, first parents all the way, oldest first."""
    line = [program]
    while line[-1].parents:  # a parent is recorded before its child, so this ends
        line.append(archive.find(line[-1].parents[0]))
    return line[::-1]


def diffs(line: Sequence[ProgramRecord], read: Callable[[ProgramRecord], Files], short: Mapping[str, str]) -> list[str]:
    """The diff of each program against its predecessor; empty for the first. Each program is read once."""
    texts = [""]
    for (before, old), (after, new) in pairwise((program, read(program)) for program in line):
        texts.append(diff_of_files(old, new, program_label(before, short), program_label(after, short)))
    return texts


def chain_title(line: Sequence[ProgramRecord]) -> str:
    """The end of the chain and its length."""
    first, last = line[0], line[-1]
    if len(line) == 1:
        return f"Generation {last.generation} is the initial program: {sentence(last)}"
    steps = counted(len(line) - 1, "step")
    return f"Generation {last.generation} in {steps}: {value_text(first.value)} -> {sentence(last)}"


def step_fields(view: GenerationView, program: ProgramRecord) -> Fields:
    """The head of a step's diff: score change, description, parents, inspirations, recommendation and author."""
    parent, reader = view.parent, view.reader
    before, gain = "" if parent is None else f"{value_text(parent.value)} -> ", gain_cell(program, parent)
    parents, shown = reader.generations(program.parents), reader.generations(program.inspirations)
    if program.origin.kind is PatchKind.CROSS:  # made of all of them
        parents, shown = list(dict.fromkeys((*parents, *shown))), []
    return known_fields(
        ("score", Cell(f"{before}{sentence(program)}, {gain.text}", gain.tone)),
        ("held-out", held_out_field(view)),
        ("description", program.origin.description or "none was given"),
        ("from", _listed(parents)),
        ("inspired by", _listed(shown)),
        ("followed", recommendation_followed(reader.archive, program.generation)),
        ("by", author(program)),
    )


def _listed(generations: Sequence[int]) -> str:
    *first, last = [f"generation {generation}" for generation in generations] or [""]
    return f"{', '.join(first)} and {last}" if first else last
