"""Verdicts, programs and records made by hand: whole and valid. A test changes only what it is about."""

import dataclasses
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.program_files import Files
from evolve.archive.events import AskedEvent, EvaluatedEvent, verdict_of
from evolve.archive.ranking import program_record
from evolve.archive.records import ProgramRecord
from evolve.core.program import Origin, PatchKind, Program
from evolve.proposal import ScoredProgram

THIRD_AND_QUARTER = (Fraction(1, 3), Fraction(1, 4))


def make_results(
    costs: Iterable[Fraction | None],
    *,
    failure: Outcome = Outcome.INVALID_OUTPUT,
    detail: str = "model left out",
    cpu_s: float = 0.001,
) -> tuple[InstanceResult, ...]:
    """One result per cost; where it is None the instance failed."""
    return tuple(
        InstanceResult(
            instance=index,
            outcome=failure if cost is None else Outcome.OK,
            cost=cost,
            detail=detail if cost is None else "",
            cpu_s=cpu_s,
        )
        for index, cost in enumerate(costs)
    )


def make_evaluation(
    costs: Sequence[Fraction | None] = THIRD_AND_QUARTER,
    *,
    score: float = 21.5,
    detail: str | None = None,
    results: Iterable[InstanceResult] | None = None,
    version: str = "v1",
    **changes: Any,
) -> Evaluation:
    """The verdict on a program with these costs, `detail` being why instances failed; or with these results, `detail`
    being that of the whole. Its outcome is that of the first instance that failed."""
    if results is None:
        results, detail = make_results(costs, detail="model left out" if detail is None else detail), None
    results = tuple(results)
    failed = next((result for result in results if result.outcome is not Outcome.OK), None)
    if detail is None:
        detail = "" if failed is None else f"instance {failed.instance} of {len(results)}: {failed.detail}"
    evaluation = Evaluation(
        task="placement",
        suite="adrs",
        outcome=Outcome.OK if failed is None else failed.outcome,
        detail=detail,
        combined_score=score,
        published_score=score,
        ceiling=26.0,
        metrics={"max_kvpr_inverse": score - 1, "success_rate": 1.0, "optimality": 0.9},
        results=results,
        feedback="",
        sandbox="standard",
        evaluator_version=version,
        runtime_s=0.002,
    )
    return dataclasses.replace(evaluation, **changes)


def make_origin(kind: PatchKind = PatchKind.DIFF, **changes: Any) -> Origin:
    """Where a program comes from: a patch of this kind by a model."""
    origin = Origin(kind=kind, model="a_model", patch_name="a_patch", description="a reason")
    return dataclasses.replace(origin, **changes)


def make_record(
    generation: int = 0,
    score: float = 21.5,
    *,
    outcome: Outcome = Outcome.OK,
    quarantine: str | None = None,
    kind: PatchKind = PatchKind.DIFF,
    name: str = "a_patch",
    runtime_s: float = 0.001,
    **changes: Any,
) -> ProgramRecord:
    """A recorded program, correct unless its outcome or a quarantine says otherwise."""
    record = ProgramRecord(
        generation=generation,
        length=100,
        commit=f"{generation:040x}",
        parents=(),
        inspirations=(),
        island=0,
        origin=make_origin(kind, patch_name=name),
        source_hash=f"hash{generation}",
        outcome=outcome,
        combined_score=score,
        ceiling=26.0,
        quarantine=quarantine,
        metrics={"success_rate": 1.0, "optimality": score / 26, "runtime_s": runtime_s},
        behaviour="",
    )
    return dataclasses.replace(record, **changes)


def make_scored(source: str, generation: int, evaluation: Evaluation, origin: Origin | None = None) -> ScoredProgram:
    """A program with its verdict, as a request for a patch has it."""
    program = Program(
        commit=f"{generation:040x}",
        generation=generation,
        files=one_file(source),
        parents=(),
        island=0,
        origin=origin or make_origin(),
    )
    return ScoredProgram(program=program, evaluation=evaluation)


def make_question(generation: int, parents: Iterable[ProgramRecord], **changes: Any) -> AskedEvent:
    """What is asked for as a generation: a diff of the first of its parents."""
    question = AskedEvent(
        generation=generation,
        attempt=0,
        kind=PatchKind.DIFF,
        island=0,
        parents=tuple(parent.commit for parent in parents),
        inspirations=(),
        model="a_model",
    )
    return dataclasses.replace(question, **changes)


def make_made(generation: int, evaluation: Evaluation, **changes: Any) -> EvaluatedEvent:
    """The program of a generation, to be recorded with its evaluation."""
    kind, name = (PatchKind.DIFF, "a_patch") if generation else (PatchKind.INITIAL, "initial_program")
    made = EvaluatedEvent(
        generation=generation,
        attempt=0,
        parents=(),
        inspirations=(),
        island=0,
        origin=Origin(kind=kind, model="a_model" if generation else "", patch_name=name, description=""),
        source_hash=f"hash{generation}",
        evaluation=verdict_of(evaluation),
    )
    return dataclasses.replace(made, **changes)


def recorded(evaluation: Evaluation) -> ProgramRecord:
    """The record of an initial program with that verdict."""
    made = EvaluatedEvent(
        generation=0,
        attempt=0,
        parents=(),
        inspirations=(),
        island=0,
        origin=Origin(kind=PatchKind.INITIAL, model="", patch_name="", description=""),
        source_hash="",
        evaluation=verdict_of(evaluation),
    )
    return program_record(made, made.evaluation)


def one_file(text: str, name: str = "program.py") -> Files:
    """A program of one file."""
    return Files.single(name, text)
