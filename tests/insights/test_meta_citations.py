"""What stands in the place of a citation is the truth about the generation, and turns back into the citation."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.events import Status
from evolve.archive.reports import Citation, cited, generations_of, shown
from evolve.core.program import Origin, PatchKind
from evolve.insights.citations import cite_step, describe, resolved, score_text, with_citations
from evolve.insights.facts import SAME, Fact
from tests.insights.a_run import a_run

FACTS = {fact.generation: fact for fact in a_run()}


def program(
    generation: int, score: float, parent: Fact | None = None, *, outcome: Outcome = Outcome.OK, detail: str = ""
) -> Fact:
    return Fact(
        generation=generation,
        status=Status.EVALUATED,
        origin=Origin(kind=PatchKind.DIFF, model="m", patch_name="n", description=""),
        outcome=outcome,
        detail=detail,
        correct=outcome is Outcome.OK,
        combined_score=score,
        parent_generation=None if parent is None else parent.generation,
        base_generation=None if parent is None else parent.generation,
        base_score=None if parent is None else parent.combined_score,
        base_correct=parent is not None and parent.correct,
    )


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("[gen 0]", "generation 0 (21.8916)"),
        ("[gen 7]", "generation 7 (26.2480, 0.0070 better than its parent)"),
        ("[gen 12]", "generation 12 (26.2480, same as its parent)"),
        ("[gen 15]", "generation 15 (26, its parent failed)"),
        ("[gen 5]", "generation 5 (failed: cpu_limit)"),
        ("[gen 11]", "generation 11 (failed: NameError)"),
        ("[gen 13]", "generation 13 (quarantined)"),
        ("[gen 6]", "generation 6 (no program: duplicate)"),
        ("[gen 14]", "generation 14 (no program: refused no_match)"),
        ("[gen 4 > gen 7]", "generation 4 to 7 (26.2410 -> 26.2480, 0.0070 better)"),
        ("[Gen 0 -> 2 > generation 7]", "generation 0 to 2 to 7 (21.8916 -> 26.2332 -> 26.2480, 4.3564 better)"),
        ("[gen 2 > gen 8]", "generation 2 to 8 (26.2332 -> 26.2332, no change)"),
        ("[gen 7 > gen 11]", "generation 7 to 11 (26.2480 -> failed: NameError)"),
        ("[gen 7 > gen 14]", "generation 7 to 14 (26.2480 -> no program)"),
        ("[gen 14 vs 7]", "generation 7 to 14 (26.2480 -> no program)"),
        (
            "[gen 0, gen 5; 13]",
            "generation 0 (21.8916), generation 5 (failed: cpu_limit), generation 13 (quarantined)",
        ),
        ("`[gen 5]` in code", "`[gen 5]` in code"),
    ],
)
def test_a_citation_is_rendered_with_the_truth(text: str, stated: str) -> None:
    assert shown(resolved(text, FACTS)) == stated


def test_scores_that_differ_never_read_the_same_in_a_step() -> None:
    before = program(1, 2.07210001)
    after = program(2, 2.07212101, before)
    assert describe(after) == "generation 2 (2.0721, 2.1e-05 better than its parent)"
    assert cite_step([before, after]).shown == "generation 1 to 2 (2.07210 -> 2.07212, 2.1e-05 better)"


def test_a_way_that_is_cut_says_so() -> None:
    way = [program(0, 1.0)]
    for generation, score in enumerate((1.5, 2.0, 2.5), 4):
        way.append(program(generation, score, way[-1]))
    steps = cite_step(way, cut=True).shown
    assert steps == "generation 0 to ... to 4 to 5 to 6 (1 -> ... -> 1.5000 -> 2 -> 2.5000, 1.5000 better)"
    assert with_citations(f"So {steps}.") == "So [gen 0 > gen 4 > gen 5 > gen 6]."


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_change_reads_as_nothing_only_if_it_is_nothing(before: float, after: float) -> None:
    change = after - before
    assert (float(score_text(before)) == 0) == (before == 0)
    step = cite_step([program(1, before), program(2, after)]).shown
    first, second = step.split(" (")[1].rsplit(",", 1)[0].split(" -> ")
    assert step.endswith(", no change)") == (abs(change) <= SAME)
    assert first != second or abs(change) < 1e-8
    assert with_citations(f"Here {step}. There") == "Here [gen 1 > gen 2]. There"


@given(st.lists(st.lists(st.sampled_from(sorted(FACTS)), min_size=1, max_size=3), min_size=1, max_size=4))
def test_what_is_rendered_turns_back_and_is_rendered_the_same(links: list[list[int]]) -> None:
    written = ", ".join(f"[{' > '.join(f'gen {g}' for g in link)}]" for link in links)
    text = f"So {written}. And then"
    data = resolved(text, FACTS)
    assert cited(data) == with_citations(shown(data)) == with_citations(text) == text
    assert generations_of(data) == list(dict.fromkeys(generation for link in links for generation in link))
    assert [piece.generations for piece in data if isinstance(piece, Citation)] == list(map(tuple, links))


@given(st.sampled_from([fact for fact in FACTS.values() if fact.correct]), st.floats(0, 100), st.floats(0, 9))
def test_a_forged_rendering_is_a_citation_again(fact: Fact, score: float, change: float) -> None:
    forged = f"generation {fact.generation} ({score:.4f}, {change:.4f} better than its parent) is a breakthrough"
    assert shown(resolved(with_citations(forged), FACTS)) == f"{describe(fact)} is a breakthrough"


@pytest.mark.parametrize(
    ("outcome", "detail", "ending"),
    [
        (Outcome.EXCEPTION, "Traceback (lines of the program):\n  line 3, in f: x\nZeroDivisionError: by zero\non instance 1 of 2", "failed: ZeroDivisionError"),  # noqa: E501
        (Outcome.EXCEPTION, "RecursionError\non instance 1 of 2", "failed: RecursionError"),
        (Outcome.EXCEPTION, "while its arguments were prepared: ValueError: no", "failed: ValueError"),
        (Outcome.LOAD_ERROR, "SyntaxError: invalid syntax", "failed: SyntaxError"),
        (Outcome.LOAD_ERROR, "the source is 99 characters long; at most 9 are run", "failed: load_error"),
        (Outcome.INFEASIBLE, "GPU 3: over its memory", "failed: infeasible"),
        (Outcome.EXCEPTION, "E" * 500 + ": long", "failed: exception"),
        (Outcome.EXCEPTION, "Bad (26.9, +9 on its parent): x", "failed: exception"),
    ],
)  # fmt: skip
def test_a_failure_is_shown_by_the_type_of_its_exception_or_its_outcome(
    outcome: Outcome, detail: str, ending: str
) -> None:
    assert program(1, 0.0, outcome=outcome, detail=detail).ending == ending


@pytest.mark.parametrize("within", [0.001, 0.5])
def test_what_is_shown_of_scores_that_vary_turns_back_into_the_citation(within: float) -> None:
    one = dataclasses.replace(program(1, 1.0), spread=(1.0 - within, 1.0 + within), self_judged=True)
    two = dataclasses.replace(
        program(2, 1.1, one), spread=(1.1 - within, 1.1 + within), base_spread=one.spread, self_judged=True
    )
    assert with_citations(f"See {describe(two)}.") == "See [gen 2]."
    assert with_citations(f"See {cite_step([one, two]).shown}.") == "See [gen 1 > gen 2]."
