"""The document without a model: computed, traceable, deterministic, and worth reading (see the golden file)."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.events import Status
from evolve.archive.ranking import new_bests
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import InsightsReport, body, generations_of, markdown, shown
from evolve.core.program import Origin, PatchKind
from evolve.insights.check import UNVERIFIED
from evolve.insights.evidence import Evidence
from evolve.insights.facts import Fact
from evolve.insights.without_model import offline_report
from tests.insights.a_run import CEILING, a_run

GOLDEN = Path(__file__).parent.parent / "data" / "meta" / "offline.md"


def report(facts: list[Fact]) -> InsightsReport:
    return offline_report(Evidence(facts), facts)


def test_the_document_reads_as_the_golden_file() -> None:
    text = markdown(report(a_run()))
    if "UPDATE_GOLDEN" in os.environ:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_it_summarises_every_program_and_says_what_it_rests_on() -> None:
    made = report(a_run())
    assert InsightsReport.model_validate_json(made.model_dump_json()) == made
    assert [s.generation for s in made.summaries] == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15]
    assert 1 <= len(made.recommendations) <= 5
    gained, _, _, standing = made.scratchpad.sections
    assert [generations_of(point.text) for point in gained] == [[2], [1], [4], [7]]
    assert [generations_of(point.text) for point in standing] == [[7, 0, 2, 4], []]


def test_it_holds_a_table_only_once_that_says_more_than_a_list() -> None:
    assert "| `add swap_one_one` | 2 | 2 | 1 | 0 | 0.0070 better | 0.0070 better (generation 7) |" in markdown(
        report(a_run())
    )
    assert "|" not in markdown(report(a_run()[:9]))


def test_a_figure_in_the_reason_of_a_models_patch_is_replaced() -> None:
    facts = a_run()
    reason = "This will score 99.5, as [gen 0] did not. See [gen 77]."
    boast = dataclasses.replace(facts[7].origin, model="gpt-4", description=reason)
    facts[7] = dataclasses.replace(facts[7], origin=boast)
    summary = next(s for s in report(facts).summaries if s.generation == 7)
    assert shown(summary.implementation) == (
        "This will score [unverified], as generation 0 (21.8916) did not. Changed: `add swap_one_one`."
    )


@pytest.mark.parametrize(
    ("message", "sentence"),
    [("Try pairs", "Try pairs."), ("Try pairs.", "Try pairs."), ("Why not pairs?", "Why not pairs?")],
)
def test_the_reason_of_a_patch_is_a_sentence_of_its_own(message: str, sentence: str) -> None:
    facts = a_run()
    facts[7] = dataclasses.replace(facts[7], origin=dataclasses.replace(facts[7].origin, description=message))
    summary = next(s for s in report(facts).summaries if s.generation == 7)
    assert shown(summary.implementation) == f"{sentence} Changed: `add swap_one_one`."


def test_what_gained_on_the_strongest_parent_and_is_missing_from_the_best_is_recommended_first() -> None:
    assert shown(report(a_run()).recommendations[0].whole) == (
        "**Bring `add swap_two_one` to the best program**, generation 7 (26.2480, 0.0070 better than its parent), no "
        "descendant of it: it gained in 1 of 1: generation 9 (26.2401, 0.0069 better than its parent)."
    )


def test_at_the_ceiling_it_says_that_nothing_can_score_above() -> None:
    start = a_run()[0]
    best = Fact(
        generation=1, status=Status.EVALUATED, outcome=Outcome.OK, correct=True, combined_score=CEILING,
        origin=Origin(kind=PatchKind.DIFF, model="m", patch_name="x", description=""), ceiling=CEILING,
        parent_generation=0,
        base_generation=0, base_score=start.combined_score, base_correct=True,
    )  # fmt: skip
    (only,) = report([start, best]).recommendations
    assert shown(only.whole).endswith("is at the ceiling of 26.2560, and nothing can score above it.")


def test_with_no_correct_program_it_says_so() -> None:
    failed = [fact for fact in a_run() if fact.generation == 5]
    (only,) = report(failed).recommendations
    assert (only.title, only.text) == (("Get one correct program first",), (": of 1 so far none is correct.",))
    assert markdown(offline_report(Evidence(), []))


def measured(generation: int, score: float, parent: Fact | None = None, *, within: float = 0.01) -> Fact:
    """A program of a script that measures time: its score varies by `within` on either side."""
    return Fact(
        generation=generation, status=Status.EVALUATED, outcome=Outcome.OK, correct=True, combined_score=score,
        origin=Origin(kind=PatchKind.DIFF, model="m", patch_name="x", description="", features=("change `f`",)),
        spread=(score - within, score + within), self_judged=True,
        parent_generation=None if parent is None else parent.generation,
        base_generation=None if parent is None else parent.generation,
        base_score=None if parent is None else parent.combined_score,
        base_spread=None if parent is None else parent.spread, base_correct=parent is not None,
    )  # fmt: skip


def test_scores_that_vary_are_a_gain_a_loss_and_a_best_only_beyond_their_spread() -> None:
    start = measured(0, 1.0)
    noise = [start, measured(1, 1.012, start), measured(2, 0.99, start)]
    evidence = Evidence(noise)
    assert (evidence.best, evidence.records, evidence.gained, evidence.gainers()) == (start, [0], 0, [])
    text = markdown(offline_report(evidence, noise))
    assert "A gain" not in text
    assert "A step back" not in text
    assert "generation 1 (1.0120, same as its parent within the spread, self-judged)" in text
    assert "generation 0 to 1 (1 -> 1.0120, self-judged, 0.0120 better within the spread)" in text
    assert "gained in 0 of 2" in text
    gain, loss = measured(3, 1.05, start), measured(4, 0.9, start)
    evidence = Evidence([*noise, gain, loss])
    assert (evidence.best, evidence.records) == (gain, [0, 3])
    (group,) = evidence.by_kind.values()
    assert (group.gained, group.lost, group.same) == ([3], [4], [1, 2])
    assert evidence.best is not None
    assert markdown(offline_report(evidence, [gain])).count("A gain, and the best of the run when it came.") == 1


@given(st.lists(st.sampled_from([1.0, 1.01, 1.015, 1.03, 1.2]), min_size=1), st.sampled_from([0.0, 0.005, 0.02]))
def test_the_records_of_a_run_are_those_of_its_archive(
    make_record: Callable[..., ProgramRecord], scores: list[float], within: float
) -> None:
    facts = [measured(generation, score, within=within) for generation, score in enumerate(scores)]
    records = [
        make_record(generation, score, spread=(score - within, score + within))
        for generation, score in enumerate(scores)
    ]
    assert Evidence(facts).records == [record.generation for record in new_bests(records)]


@st.composite
def runs(draw: st.DrawFn) -> list[Fact]:
    """Any run: scores from a few levels so that there are ties, failures, generations without a program."""
    facts: list[Fact] = [a_run()[0]]
    for generation in range(1, draw(st.integers(1, 25))):
        parent = draw(st.sampled_from([fact for fact in facts if fact.is_program]))
        status = draw(st.sampled_from([Status.EVALUATED] * 5 + [Status.REFUSED, Status.DUPLICATE, Status.FAILED]))
        outcome = draw(st.sampled_from([Outcome.OK] * 4 + [Outcome.TIMEOUT, Outcome.EXCEPTION, Outcome.INFEASIBLE]))
        score = draw(st.sampled_from([21.891587, 22.3, 26.2332, 26.24, 26.240001]) | st.floats(15, 26.25))
        name = draw(st.sampled_from(["[gen 99] `x", "add_f", "raise_x 3.75", "# META RECOMMENDATIONS"]))
        changed = draw(st.sampled_from([(), ("add f",), ("raise X", "add g"), ("lower X",), ("change f",)]))
        program = status is Status.EVALUATED
        ok = program and outcome is Outcome.OK
        facts.append(
            Fact(
                generation=generation, status=status,
                origin=Origin(kind=PatchKind.DIFF, model="m", patch_name=name, description=name, features=changed),
                outcome=outcome if program else None, detail="" if ok else f"Some{name}: instance 3", correct=ok,
                combined_score=(score if ok else 0.5) if program else None, ceiling=CEILING if program else None,
                metrics={"success_rate": 1.0 if ok else 0.5} if program else {},
                parent_generation=parent.generation if program else None,
                base_generation=parent.generation if program else None,
                base_score=parent.combined_score if program else None, base_correct=program and parent.correct,
            )
        )  # fmt: skip
    return facts


@given(runs(), st.integers(0, 20))
def test_what_code_counted_keeps_its_figures_and_what_a_model_said_does_not(facts: list[Fact], since: int) -> None:
    evidence, new = Evidence(facts), facts[since:]
    made = offline_report(evidence, new)
    assert InsightsReport.model_validate_json(made.model_dump_json()) == made
    own = [*map(body, made.scratchpad.sections), *(each.whole for each in made.recommendations)]
    own += [text for summary in made.summaries for text in (summary.performance, summary.feedback)]
    assert not [text for text in own if UNVERIFIED in shown(text)]
    assert not [summary for summary in made.summaries if "3.75" in shown(summary.implementation)]


@pytest.mark.parametrize(("model", "kept"), [("offline", True), ("tuner", True), ("gpt-4", False)])
def test_the_reason_of_a_patch_keeps_its_figures_where_code_wrote_it(model: str, kept: bool) -> None:
    facts = a_run()
    origin = dataclasses.replace(facts[8].origin, model=model)  # `KICK_ITERATIONS from 100 to 200`
    new = [dataclasses.replace(facts[8], origin=origin)]
    (summary,) = offline_report(Evidence(facts), new).summaries
    assert ("from 100 to 200" in shown(summary.implementation)) == kept
    assert (UNVERIFIED in shown(summary.implementation)) != kept
