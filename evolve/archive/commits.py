"""What the commit of a program says: a subject and a body for people, trailers for `git log` and scripts."""

from collections.abc import Mapping
from typing import Any

from evaluator.untrusted import block, one_line
from evolve.archive.records import ProgramRecord


def program_message(event: Mapping[str, Any], record: ProgramRecord, parent: ProgramRecord | None) -> str:
    """The message of a program's commit, from the fields that its `evaluated` event will have.

    `record` is the program (its commit is not used, for it is being made); `parent` the program that was patched.
    Name, description and model are untrusted, and cannot forge a line outside the body.
    """
    origin = record.origin
    name = one_line(origin.patch_name, 60) or "unnamed"
    subject = f"gen {record.generation}: {name} ({_result(record, parent)})"
    trailers = [("Generation", str(record.generation)), ("Island", str(record.island)), ("Kind", origin.kind.value)]
    if origin.model:
        trailers.append(("Model", one_line(origin.model)))
    trailers += [
        ("Outcome", record.outcome.value),
        ("Score", repr(record.combined_score)),
    ]
    if record.quarantine is not None:
        trailers.append(("Quarantine", one_line(record.quarantine)))
    if not record.correct and (detail := one_line(event["evaluation"]["detail"])):
        trailers.append(("Detail", detail))
    trailers += [("Inspiration", commit) for commit in record.inspirations]
    parts = [subject, _body(origin.description), "\n".join(f"{key}: {value}" for key, value in trailers)]
    return "\n\n".join(part for part in parts if part) + "\n"


def attempt_message(generation: int, attempt: int, what: str) -> str:
    """The message of the commit that keeps the texts of an attempt."""
    return f"gen {generation}, attempt {attempt}: {what}\n"


def _result(record: ProgramRecord, parent: ProgramRecord | None) -> str:
    if record.quarantine is not None:
        return "quarantined"
    if not record.correct:
        return record.outcome.value
    value = record.combined_score if record.value is None else record.value
    score = f"{value:.4f}" if not value or 1e-3 <= abs(value) < 1e12 else f"{value:.6g}"
    if parent is None or not parent.correct:
        return score
    change = value - (parent.combined_score if parent.value is None else parent.value)
    return f"{score}, {change:+.4f}" if abs(change) >= 0.00005 or change == 0 else f"{score}, {change:+.1e}"


def _body(description: str) -> str:
    # Indented, so that no line of it reads like a trailer, or ends the message for `git interpret-trailers`.
    lines = block(description).strip().split("\n")
    return "\n".join(f"  {line}".rstrip() for line in lines)
