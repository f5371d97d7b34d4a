"""The document without a model: computed, traceable, deterministic, and worth reading (see the golden file)."""

import os
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.records import Status
from evolve.meta.check import check_document
from evolve.meta.document import Document, parse, render
from evolve.meta.evidence import Evidence
from evolve.meta.facts import Fact, features_of
from evolve.meta.offline import offline_document
from evolve.meta.record import Record
from evolve.program import PatchKind
from tests.meta.a_run import CEILING, OPERATORS, a_run, best_source, source

GOLDEN = Path(__file__).parent.parent / "data" / "meta" / "offline.md"


def document(facts: list[Fact]) -> Document:
    return offline_document(Evidence(facts), facts, best_source=best_source(facts), vocabulary=OPERATORS)


def test_the_document_reads_as_the_golden_file() -> None:
    text = render(document(a_run()))
    if "UPDATE_GOLDEN" in os.environ:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_it_is_a_document_of_the_known_format() -> None:
    made = document(a_run())
    assert parse(render(made)) == made
    assert [s.generation for s in made.summaries] == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15]
    assert 1 <= len(made.recommendations) <= 5


def test_every_score_in_it_is_the_score_of_a_program_or_a_difference_of_two() -> None:
    facts = a_run()
    scores = [f.combined_score for f in facts if f.combined_score is not None] + [CEILING]
    kinds = Evidence(facts).by_kind.values()
    known = (
        scores
        + [a - b for a in scores for b in scores]
        + [g.mean for g in kinds if g.mean is not None]
        + [1.0, 0.5, 0.0]
    )
    for quoted in re.findall(r"(?<![\w.])\d+\.\d{6}\b", render(document(facts))):
        assert any(abs(abs(number) - float(quoted)) <= 0.5e-6 + 1e-9 for number in known), quoted


def test_a_reason_that_praises_a_failure_is_corrected() -> None:
    fraud = next(s for s in document(a_run()).summaries if s.generation == 13)
    assert fraud.implementation.endswith("An excellent leap. [correction: generation 13 is quarantined]")


def test_an_operator_that_gained_and_is_missing_is_recommended_with_its_evidence() -> None:
    first = document(a_run()).recommendations[0]
    assert first.startswith(
        "**Bring `swap_two_one` into the best program**: it gained 0.006854 in one try (generation 9)"
    )


def test_at_the_ceiling_it_says_that_nothing_can_score_above() -> None:
    start = a_run()[0]
    best = Fact(
        generation=1, status=Status.EVALUATED, kind=PatchKind.DIFF, model="m", patch_name="add_move_one",
        features=("move_one",), outcome=Outcome.OK, correct=True, combined_score=CEILING, ceiling=CEILING,
        parent_generation=0, parent_score=start.combined_score, parent_correct=True,
    )  # fmt: skip
    made = offline_document(Evidence([start, best]), [best], best_source=source("move_one"), vocabulary=OPERATORS)
    assert "has reached the ceiling of 26.255972, and nothing can score above it" in made.recommendations[0]
    assert "100.00 % of the distance from generation 0 is closed" in made.scratchpad.performance


def test_with_no_correct_program_it_says_so() -> None:
    failed = [fact for fact in a_run() if fact.generation == 5]
    made = offline_document(Evidence(failed), failed)
    assert made.scratchpad.performance == "There is no correct program to rank yet."
    assert made.recommendations == (
        "**Get one correct program first**: nothing scores until every instance is answered. 1 program so far, none "
        "correct.",
    )
    assert render(offline_document(Evidence(), []))


@st.composite
def runs(draw: st.DrawFn) -> list[Fact]:
    """Any run: scores from a few levels so that there are ties, failures, generations without a program."""
    facts: list[Fact] = [a_run()[0]]
    for generation in range(1, draw(st.integers(1, 25))):
        parent = draw(st.sampled_from([fact for fact in facts if fact.is_program]))
        name = draw(st.sampled_from(["add", "remove", "replace"])) + "_" + draw(st.sampled_from(OPERATORS))
        status = draw(st.sampled_from([Status.EVALUATED] * 5 + [Status.REFUSED, Status.DUPLICATE, Status.FAILED]))
        outcome = draw(st.sampled_from([Outcome.OK] * 4 + [Outcome.TIMEOUT, Outcome.EXCEPTION, Outcome.INFEASIBLE]))
        ok = status is Status.EVALUATED and outcome is Outcome.OK
        score = draw(st.sampled_from([21.891587, 22.3, 26.2332, 26.24, 26.240001]) | st.floats(15, 26.25))
        program = status is Status.EVALUATED
        facts.append(
            Fact(
                generation=generation, status=status, kind=draw(st.sampled_from([PatchKind.DIFF, PatchKind.CROSS])),
                model="m", patch_name=name, description="one step at a time", features=features_of(name, OPERATORS),
                outcome=outcome if program else None, detail="" if ok else "instance 3", correct=ok,
                combined_score=(score if ok else 0.5) if program else None, ceiling=CEILING if program else None,
                metrics={"success_rate": 1.0 if ok else 0.5} if program else {},
                parent_generation=parent.generation if program else None,
                parent_score=parent.combined_score if program else None, parent_correct=program and parent.correct,
            )
        )  # fmt: skip
    return facts


@given(runs(), st.integers(0, 20))
def test_the_check_finds_nothing_to_correct_in_it_whatever_the_run(facts: list[Fact], since: int) -> None:
    evidence, new = Evidence(facts), facts[since:]
    made = offline_document(evidence, new, best_source=source("move_one", "local_search"), vocabulary=OPERATORS)
    assert "~~" not in render(made) and "[correction" not in render(made)
    assert check_document(made, Record(evidence, new)) == (made, ())
    assert parse(render(made)) == made
