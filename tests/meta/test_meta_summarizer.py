"""Rounds with a model: three steps, checked answers, failures that lose nothing, and what goes into which prompt."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator.task import Limits, Suite
from evaluator.task_files import load_task
from evolve.completion import CallEvent, Completion, Message
from evolve.meta.answers import UnusableAnswer, read_recommendations, read_scratchpad, read_summary
from evolve.meta.document import SECTIONS, Document, Scratchpad, parse, render
from evolve.meta.evidence import Evidence
from evolve.meta.facts import Fact
from evolve.meta.summarizer import START, MetaResult, MetaState, choose_recommendation, summarise, summarise_offline
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from tests.meta.a_run import OPERATORS, a_run, best_source

DATA = Path(__file__).parent.parent / "data" / "meta"
SUITE = Suite(
    name="adrs",
    instances=(),
    limits=Limits(cpu_per_instance_s=5, cpu_total_s=60, memory_mb=1024),
    digest="0",
)
PROMPTS = Prompts(task=load_task("placement"), suite=SUITE, folder=None, max_tokens=32_000)
SUMMARY = """Here it is:
**Program Name: Greedy with Refinement**
- **Implementation**: It places models one by one
and refines the result.
- **Performance**: Achieved a perfect combined score of 38.38.
- **Feedback**: A highly effective idea.
**Program Identifier:** Generation 99 - Patch Name forged - Correct Program: True
"""
SCRATCHPAD = """# GLOBAL INSIGHTS SCRATCHPAD
Based on the evidence:

### 1. Successful Algorithmic Patterns
- **Bisection**: generation 2 gained 4.34, to 26.23.
- **Kicks**: generation 11 is a breakthrough with 38.38.

## Ineffective Approaches
- **Shuffling**: generation 3 lost 0.02.

## **Implementation Insights**
- Keep `alpha = 0.99`.

## Performance Analysis:
- Generation 7 leads with 26.25.
"""
RECOMMENDATIONS = "Five ideas:\n\n" + "\n".join(f"{n}. **Idea {n}**: do it\n   at once." for n in range(1, 8))


class Recorder:
    """Asks a scripted model, and keeps what was asked, by key."""

    def __init__(self, folder: Path, *rounds: Mapping[str, Any]) -> None:
        file = folder / "answers.yaml"
        file.write_text(yaml.safe_dump({"meta": list(rounds)}), encoding="utf-8")
        self.llm = ScriptedLLM(file)
        self.asked: dict[str, str] = {}
        self.events: list[CallEvent] = []

    def __call__(self, key: str, prompt: str) -> Completion:
        assert key not in self.asked, "the same request twice"
        self.asked[key] = prompt
        return self.llm.complete([Message(role="user", content=prompt)], key=key, observe=self.events.append)


GOOD = {"summary": SUMMARY, "scratchpad": SCRATCHPAD, "recommendations": RECOMMENDATIONS}


def run_round(
    ask: Recorder, state: MetaState = START, *, new: list[Fact] | None = None, parallel: int = 1
) -> MetaResult:
    facts = a_run()
    return summarise(
        state,
        Evidence(facts),
        facts if new is None else new,
        ask=ask,
        render=PROMPTS.fill,
        best_source=best_source(facts),
        parallel=parallel,
    )


def test_three_steps_make_a_document_that_is_checked(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    result = run_round(ask)
    assert result.problems == () and result.document is not None
    assert result.state == MetaState(rounds=1, number=1, document=result.document, failures={})
    text = render(result.document)
    if "UPDATE_GOLDEN" in os.environ:
        (DATA / "scripted.md").write_text(text, encoding="utf-8")
    assert text == (DATA / "scripted.md").read_text(encoding="utf-8")
    assert parse(text) == result.document
    assert (
        "- **Kicks**: generation 11 is a breakthrough with ~~38.38~~ [generation 13 is quarantined]. [correction: "
        in text
    )
    assert "Patch Name forged" not in text and len(result.document.recommendations) == 5
    assert all(
        s.performance.startswith(("Failed (", "Not a result")) for s in result.document.summaries if not s.correct
    )


def test_the_prompts_hold_the_evidence_and_say_what_failed(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    run_round(ask)
    programs = [fact.generation for fact in a_run() if fact.is_program]
    assert list(ask.asked) == [
        *(f"meta/1/summary/{generation}" for generation in programs), "meta/1/scratchpad", "meta/1/recommendations"
    ]  # fmt: skip
    failed = ask.asked["meta/1/summary/11"]
    assert "NOT CORRECT" in failed and "| cpu_limit: instance 4: more than 5 s of CPU" in failed
    table = Evidence(a_run()).table()
    for step in ("scratchpad", "recommendations"):
        assert table in ask.asked[f"meta/1/{step}"]
        assert "generation 7, combined_score = 26.248034" in ask.asked[f"meta/1/{step}"]
    assert "[correction: generation 11 failed: cpu_limit]" in ask.asked["meta/1/recommendations"]  # of the checked text
    for step, file in (("summary/7", "summary"), ("scratchpad", "scratchpad"), ("recommendations", "recommendations")):
        golden = DATA / f"prompt_{file}.txt"
        if "UPDATE_GOLDEN" in os.environ:
            golden.write_text(ask.asked[f"meta/1/{step}"], encoding="utf-8")
        assert ask.asked[f"meta/1/{step}"] == golden.read_text(encoding="utf-8")


def test_summaries_asked_in_parallel_give_the_same_document(tmp_path: Path) -> None:
    assert run_round(Recorder(tmp_path, GOOD), parallel=4) == run_round(Recorder(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("step", "answer", "problem"),
    [
        ("summary/7", {"error": "timeout"}, "summary of generation 7: "),
        (
            "summary/7",
            "It is a program.",
            "summary of generation 7: the answer has no implementation and no feedback line",
        ),
        (
            "summary/7",
            {"text": SUMMARY, "finish_reason": "length"},
            "summary of generation 7: the answer ended with length",
        ),
        ("scratchpad", {"error": "server_error"}, "scratchpad: "),
        (
            "scratchpad",
            SCRATCHPAD.split("## Performance", maxsplit=1)[0],
            "scratchpad: the answer has no section 'Performance Analysis'",
        ),
        (
            "scratchpad",
            SCRATCHPAD + "## Performance Analysis\n- more",
            "scratchpad: the heading '## Performance Analysis' stands",
        ),
        ("scratchpad", " ", "scratchpad: the answer is empty"),
        (
            "recommendations",
            {"text": "no", "finish_reason": "refusal"},
            "recommendations: the answer ended with refusal",
        ),
        ("recommendations", "Do better.", "recommendations: the answer has no numbered recommendation"),
    ],
)
def test_a_step_that_fails_loses_nothing_and_is_tried_again(
    tmp_path: Path, step: str, answer: Any, problem: str
) -> None:
    before = run_round(Recorder(tmp_path, GOOD), new=a_run()[:8]).state
    new = a_run()[7:]
    ask = Recorder(tmp_path, {}.fromkeys(["summary"], "unused"), GOOD | {step: answer}, GOOD)
    failed = run_round(ask, before, new=new)
    assert failed.document is None and len(failed.problems) == 1 and failed.problems[0].startswith(problem)
    assert (failed.state.document, failed.state.number) == (before.document, before.number)
    paid = {s.generation for s in failed.state.summaries}
    assert paid == {f.generation for f in new if f.is_program} - ({7} if step == "summary/7" else set())
    # The state survives: what was paid for is not asked again.
    assert before.document is not None
    state = MetaState.from_json(json.loads(json.dumps(failed.state.to_json())), render(before.document))
    assert state == failed.state
    ask.asked.clear()
    again = run_round(ask, state, new=new)
    assert again.problems == () and again.document is not None and again.state.number == 3
    summaries = ["meta/3/summary/7"] if step == "summary/7" else []
    assert list(ask.asked) == [*summaries, "meta/3/scratchpad", "meta/3/recommendations"]
    assert [s.generation for s in again.document.summaries] == [f.generation for f in new if f.is_program]


def test_a_summary_that_never_comes_is_written_by_code_in_the_end(tmp_path: Path) -> None:
    silent = GOOD | {"summary/7": {"text": "", "finish_reason": "content_filter"}}
    ask = Recorder(tmp_path, silent, silent)
    first = run_round(ask)
    second = run_round(ask, first.state)
    assert first.document is None and second.document is not None
    told = next(s for s in second.document.summaries if s.generation == 7)
    assert told.performance.startswith(
        "Combined score 26.248034, +0.007010 against its parent's 26.241024 (generation 4)"
    )
    assert second.corrections[0] == (
        "Generation 7: summarised by code (summary of generation 7: the answer ended with content_filter)"
    )


def test_the_earlier_scratchpad_and_recommendations_reach_the_next_prompts(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD, GOOD)
    first = run_round(ask, new=a_run()[:8])
    run_round(ask, first.state, new=a_run()[8:])
    assert "| - **Bisection**: generation 2 gained 4.34, to 26.23." in ask.asked["meta/2/scratchpad"]
    assert "| 1.  **Idea 1**: do it at once." in ask.asked["meta/2/recommendations"]


def test_a_round_without_programs_still_learns(tmp_path: Path) -> None:
    result = run_round(Recorder(tmp_path, GOOD), new=[fact for fact in a_run() if not fact.is_program])
    assert result.document is not None and result.document.summaries == ()


def test_offline_rounds_count_on(tmp_path: Path) -> None:
    facts = a_run()
    result = summarise_offline(START, Evidence(facts), facts, best_source=best_source(facts), vocabulary=OPERATORS)
    assert result.document is not None and result.state.number == 1
    state = MetaState.from_json(result.state.to_json(), render(result.document))
    assert state == result.state
    assert summarise_offline(state, Evidence(facts), []).state.number == 2


@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(1, 5))
def test_the_recommendation_of_a_generation_is_a_function_of_the_seed(generation: int, seed: int, count: int) -> None:
    document = Document(recommendations=tuple(f"idea {n}" for n in range(1, count + 1)))
    chosen = choose_recommendation(document, generation, seed)
    assert chosen is not None and chosen == choose_recommendation(document, generation, seed)
    assert chosen[1] == f"idea {chosen[0]}"


def test_every_recommendation_gets_its_turn() -> None:
    document = Document(recommendations=("a", "b", "c", "d", "e"))
    assert {choose_recommendation(document, generation, 0) for generation in range(50)} == set(enumerate("abcde", 1))
    assert choose_recommendation(dataclasses.replace(document, recommendations=()), 1, 0) is None


@given(
    st.text()
    | st.lists(st.sampled_from([*SUMMARY.splitlines(), *SCRATCHPAD.splitlines(), "```", "1. x"])).map("\n".join)
)
def test_any_answer_is_read_or_refused(text: str) -> None:
    for read in (read_summary, read_scratchpad, read_recommendations):
        try:
            found = read(text)
        except UnusableAnswer:
            continue
        if isinstance(found, Scratchpad):
            assert len(found.sections) == len(SECTIONS) and all(found.sections)
        assert found
