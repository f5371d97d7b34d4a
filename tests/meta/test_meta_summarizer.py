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
from evolve.completion import CallEvent, Completion, Message, MetaKey, UnusableAnswer
from evolve.evidence.counted import Evidence
from evolve.evidence.facts import Fact
from evolve.meta.document import (
    SECTIONS,
    Scratchpad,
    parse,
    read_recommendations,
    read_scratchpad,
    read_summary,
    render,
)
from evolve.meta.overview import overview
from evolve.meta.summarizer import (
    START,
    MetaResult,
    MetaState,
    ModelSummarizer,
    OfflineSummarizer,
    SummaryRequest,
    diff_to_parent,
)
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from tests.meta.a_run import a_run, best_source

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
- **Feedback**: A highly effective idea, better by 3.75 than [gen 0].
**Program Identifier:** Generation 99 - Patch Name forged - Correct Program: True
"""
SCRATCHPAD = """# GLOBAL INSIGHTS SCRATCHPAD
Based on the evidence:

### 1. Successful Algorithmic Patterns
- **Bisection**: packing to a target is what lifts the score: [gen 0 > gen 2].
- **Kicks**: [gen 11] is a breakthrough with 38.38.
- **Magic**: [gen 99] solved it all.

## Ineffective Approaches
- **Best fit**: the tightest GPU is no better, as [gen 3] shows.

## **Implementation Insights**
- Keep `alpha = 0.99`.

## Performance Analysis:
- [gen 7] leads; [gen 12] wandered over plateaus in vain.
"""
RECOMMENDATIONS = "Five ideas:\n\n" + "\n".join(
    f"{n}. **Idea {n}**: do it\n   at once, as [gen {n}] did." for n in range(1, 8)
)


class Recorder:
    """Asks a scripted model, and keeps what was asked, by key."""

    def __init__(self, folder: Path, *rounds: Mapping[str, Any]) -> None:
        file = folder / "answers.yaml"
        file.write_text(yaml.safe_dump({"meta": list(rounds)}), encoding="utf-8")
        self.llm = ScriptedLLM(file)
        self.asked: dict[str, str] = {}
        self.events: list[CallEvent] = []

    def __call__(self, key: MetaKey, prompt: str) -> Completion:
        assert str(key) not in self.asked, "the same request twice"
        self.asked[str(key)] = prompt
        return self.llm.complete([Message(role="user", content=prompt)], key=key, observe=self.events.append)


GOOD = {"summary": SUMMARY, "scratchpad": SCRATCHPAD, "recommendations": RECOMMENDATIONS}


def run_round(
    ask: Recorder, state: MetaState = START, *, new: list[Fact] | None = None, parallel: int = 1
) -> MetaResult:
    facts = a_run()
    return ModelSummarizer(render=PROMPTS.fill, parallel=parallel).summarise(
        SummaryRequest(
            state=state,
            evidence=Evidence(facts),
            new=facts if new is None else new,
            best_source=best_source(facts),
            ask=ask,
        )
    )


def test_three_steps_make_a_document_that_is_checked(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    result = run_round(ask)
    assert result.problems == () and result.document is not None
    assert result.state == MetaState(rounds=1, document=result.document)
    text = render(result.document)
    if "UPDATE_GOLDEN" in os.environ:
        (DATA / "scripted.md").write_text(text, encoding="utf-8")
    assert text == (DATA / "scripted.md").read_text(encoding="utf-8")
    assert parse(text) == result.document
    assert "- **Kicks**: generation 11 (failed: NameError) is a breakthrough with [unverified].\n" in text
    assert "Magic" not in text
    assert "Patch Name forged" not in text and len(result.document.recommendations) == 5
    assert any("no such generation: - **Magic**: [gen 99]" in note for note in result.corrections)


def test_how_a_program_did_is_codes_own_statement(tmp_path: Path) -> None:
    document = run_round(Recorder(tmp_path, GOOD)).document
    assert document is not None
    told = {summary.generation: summary.performance for summary in document.summaries}
    assert told[7] == "generation 4 to 7: 26.2410 -> 26.2480, +0.0070; 0.0079 below the ceiling of 26.2560."
    assert told[5] == "generation 5 (failed: cpu_limit): `instance 0: more than 5 s of CPU`."
    assert told[13] == "generation 13 (quarantined): `instance 3 beats its proven bound`."
    assert told[15] == "generation 15 (26.0000, its parent failed); 0.2560 below the ceiling of 26.2560."
    assert "perfect" not in render(document)


def test_the_prompts_hold_the_evidence_and_say_what_failed(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    run_round(ask)
    programs = [fact.generation for fact in a_run() if fact.is_program]
    assert list(ask.asked) == [
        *(f"meta/1/summary/{generation}" for generation in programs), "meta/1/scratchpad", "meta/1/recommendations"
    ]  # fmt: skip
    failed = ask.asked["meta/1/summary/11"]
    assert "NOT CORRECT" in failed and "NameError: name 'fullest' is not defined" in failed
    table = overview(Evidence(a_run()))
    for step in ("scratchpad", "recommendations"):
        assert table in ask.asked[f"meta/1/{step}"]
        assert "generation 7, combined_score = 26.248034" in ask.asked[f"meta/1/{step}"]
    checked = ask.asked["meta/1/recommendations"]
    assert "| - **Kicks**: [gen 11] is a breakthrough with [unverified]." in checked
    assert all("[gen 12]" in prompt and "Write no other figures" in prompt for prompt in ask.asked.values())
    assert "its parent is correct, combined_score = 26.241024; change = +0.0070" in ask.asked["meta/1/summary/7"]
    assert "+def swap_one_one(packing):" in ask.asked["meta/1/summary/7"]
    assert "```python" in ask.asked["meta/1/summary/0"]
    for step, file in (("summary/7", "summary"), ("scratchpad", "scratchpad"), ("recommendations", "recommendations")):
        golden = DATA / f"prompt_{file}.txt"
        if "UPDATE_GOLDEN" in os.environ:
            golden.write_text(ask.asked[f"meta/1/{step}"], encoding="utf-8")
        assert ask.asked[f"meta/1/{step}"] == golden.read_text(encoding="utf-8")


def test_a_figure_in_the_reason_of_a_models_patch_reaches_no_prompt(tmp_path: Path) -> None:
    facts = a_run()
    boast = dataclasses.replace(facts[7].origin, model="gpt-4", description="A 2-opt move that gains 4711 points.")
    facts[7] = dataclasses.replace(facts[7], origin=boast)
    ask = Recorder(tmp_path, GOOD | {"summary/7": {"error": "timeout"}})
    result = run_round(ask, new=facts)
    assert "| A 2-opt move that gains [unverified] points." in ask.asked["meta/1/summary/7"]
    assert not [key for key, prompt in ask.asked.items() if "4711" in prompt]
    assert result.document is not None
    assert "4711" not in render(result.document)


def test_summaries_asked_in_parallel_give_the_same_document(tmp_path: Path) -> None:
    assert run_round(Recorder(tmp_path, GOOD), parallel=4) == run_round(Recorder(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("step", "answer", "problem"),
    [
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
    assert failed.state.document == before.document
    assert {s.generation for s in failed.state.summaries} == {f.generation for f in new if f.is_program}
    # The state survives: what was paid for is not asked again.
    assert before.document is not None
    state = MetaState.from_json(json.loads(json.dumps(failed.state.to_json())), render(before.document))
    assert state == failed.state
    ask.asked.clear()
    again = run_round(ask, state, new=new)
    assert again.problems == () and again.document is not None and again.state.rounds == 3
    assert list(ask.asked) == ["meta/3/scratchpad", "meta/3/recommendations"]
    assert [s.generation for s in again.document.summaries] == [f.generation for f in new if f.is_program]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": "timeout"}, ""),
        ({"text": "", "finish_reason": "content_filter"}, "the answer ended with content_filter"),
        ({"text": SUMMARY, "finish_reason": "length"}, "the answer ended with length"),
        ("It is a program.", "the answer has no implementation and no feedback line"),
    ],
)
def test_a_summary_that_cannot_be_had_is_written_by_code_and_asked_for_again_if_the_round_fails(
    tmp_path: Path, answer: Any, problem: str
) -> None:
    without = GOOD | {"summary/7": answer}
    ask = Recorder(tmp_path, without | {"scratchpad": "no"}, without)
    first = run_round(ask)
    assert first.document is None
    assert 7 not in {summary.generation for summary in first.state.summaries}
    second = run_round(ask, first.state)
    assert "meta/2/summary/7" in ask.asked and "meta/2/summary/8" not in ask.asked
    assert second.document is not None
    told = next(s for s in second.document.summaries if s.generation == 7)
    assert told.implementation.endswith("Changed: `add swap_one_one`.")
    assert any(note.startswith(f"Generation 7: summarised by code, for {problem}") for note in second.corrections)


def test_the_earlier_scratchpad_and_recommendations_reach_the_next_prompts(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD, GOOD)
    first = run_round(ask, new=a_run()[:8])
    run_round(ask, first.state, new=a_run()[8:])
    assert (
        "| - **Bisection**: packing to a target is what lifts the score: [gen 0 > gen 2]."
        in (ask.asked["meta/2/scratchpad"])
    )
    assert "| 1.  **Idea [unverified]**: do it at once, as [gen 1] did." in ask.asked["meta/2/recommendations"]


def test_a_round_without_programs_still_learns(tmp_path: Path) -> None:
    result = run_round(Recorder(tmp_path, GOOD), new=[fact for fact in a_run() if not fact.is_program])
    assert result.document is not None and result.document.summaries == ()


def test_offline_rounds_count_on() -> None:
    def nobody(key: str, prompt: str) -> Completion:
        raise AssertionError(key)

    facts = a_run()
    request = SummaryRequest(state=START, evidence=Evidence(facts), new=facts, best_source="", ask=nobody)
    result = OfflineSummarizer().summarise(request)
    assert result.document is not None and result.state.rounds == 1
    state = MetaState.from_json(result.state.to_json(), render(result.document))
    assert state == result.state
    assert OfflineSummarizer().summarise(dataclasses.replace(request, state=state, new=[])).state.rounds == 2


def test_a_rewrite_is_shown_as_it_is_and_a_change_as_a_diff() -> None:
    fact = a_run()[7]
    assert diff_to_parent(fact).startswith("@@ ")
    assert diff_to_parent(dataclasses.replace(fact, parent_source="")) == ""
    assert diff_to_parent(dataclasses.replace(fact, parent_source="a\n" * 500)) == ""
    # Comparing such programs line by line would take minutes where they are as long as a program may be.
    parent, child = ("\n".join(str(n if n % 40 else n * more) for n in range(1, 2200)) for more in (2, 3))
    assert diff_to_parent(dataclasses.replace(fact, parent_source=parent, source=child)) == ""
    assert diff_to_parent(dataclasses.replace(fact, parent_source=parent[:4000], source=child[:4000])).startswith("@@ ")


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
