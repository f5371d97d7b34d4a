"""Rounds with a model: two calls, checked answers, failures that lose nothing, and what goes into which prompt."""

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator.task import Limits, Suite
from evaluator.task_files import load_task
from evolve.archive.reports import SECTIONS, Citation, MetaState, Problem, Round, markdown, shown
from evolve.core.completion import CallEvent, Completion, Message, MetaKey
from evolve.insights.answers import read_insights, read_summaries
from evolve.insights.evidence import Evidence
from evolve.insights.facts import Fact
from evolve.insights.overview import overview
from evolve.insights.summarizer import (
    MOST_CORRECTIONS,
    ModelSummarizer,
    OfflineSummarizer,
    SummaryRequest,
    diff_to_parent,
)
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from tests.insights.a_run import a_run, best_source

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
- [gen 7] leads; [gen 12] wandered over plateaus without gain.
"""
RECOMMENDATIONS = "## Recommendations\nFive ideas:\n\n" + "\n".join(
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


START = MetaState()
ASKED_OF = (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15)


def summaries(*but: int) -> str:
    """An answer to the first question, without some of the programs."""
    return "\n".join(f"## Generation {number}\n{SUMMARY}" for number in ASKED_OF if number not in but)


def insights(scratchpad: str = SCRATCHPAD, recommendations: str = RECOMMENDATIONS) -> str:
    """An answer to the second question."""
    return f"{scratchpad}\n{recommendations}"


GOOD = {"summaries": summaries(), "insights": insights()}


def run_round(
    ask: Recorder, state: MetaState = START, *, new: list[Fact] | None = None, prompt_tokens: int = 32_000
) -> Round:
    facts = a_run()
    return ModelSummarizer(render=PROMPTS.fill, prompt_tokens=prompt_tokens).summarise(
        SummaryRequest(
            state=state,
            evidence=Evidence(facts),
            new=facts if new is None else new,
            best_source=best_source(facts),
            ask=ask,
        )
    )


def test_two_calls_make_a_report_that_is_checked(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    result = run_round(ask)
    assert result.problems == () and result.report is not None
    assert START.after(result) == MetaState(rounds=1, report=result.report)
    text = markdown(result.report)
    if "UPDATE_GOLDEN" in os.environ:
        (DATA / "scripted.md").write_text(text, encoding="utf-8")
    assert text == (DATA / "scripted.md").read_text(encoding="utf-8")
    assert Round.model_validate(result.model_dump(mode="json")) == result
    assert "- **Kicks**: generation 11 (failed: NameError) is a breakthrough with [unverified].\n" in text
    assert "Magic" not in text
    assert "Patch Name forged" not in text and len(result.report.recommendations) == 5
    assert any("no such generation: - **Magic**: [gen 99]" in note for note in result.corrections)


def test_citations_are_resolved_once_and_kept_as_data(tmp_path: Path) -> None:
    report = run_round(
        Recorder(tmp_path, GOOD | {"insights": insights(SCRATCHPAD.replace("leads", "has [gen 7].score"))})
    ).report
    assert report is not None
    (point,) = report.scratchpad.sections[3]
    assert [piece for piece in point.text if isinstance(piece, Citation)] == [
        Citation(generations=(7,), shown="generation 7 (26.2480, 0.0070 better than its parent)"),
        Citation(generations=(7,), figure="score", shown="26.2480 (score of generation 7)"),
        Citation(generations=(12,), shown="generation 12 (26.2480, same as its parent)"),
    ]
    step = Citation(generations=(0, 2), shown="generation 0 to 2 (21.8916 -> 26.2332, 4.3416 better)")
    assert report.scratchpad.sections[0][0].text == (
        "**Bisection**: packing to a target is what lifts the score: ", step, "."
    )  # fmt: skip
    advice = report.recommendations[1]
    assert (advice.title, next(piece for piece in advice.text if isinstance(piece, Citation)).generations) == (
        ("Idea [unverified]",), (2,)
    )  # fmt: skip


def test_the_statements_of_one_text_are_bounded(tmp_path: Path) -> None:
    cited = ", ".join(["gen 7"] * 200)
    advice = f"## Recommendations\n1. **All**: as [{cited}] show."
    report = run_round(Recorder(tmp_path, GOOD | {"insights": insights(recommendations=advice)})).report
    assert report is not None
    text = shown(report.recommendations[0].whole)
    assert text.count("generation 7 (26.2480, 0.0070 better than its parent)") > 20
    assert text.endswith("generation 7, generation 7 show.")
    assert len(text) < 8000


def test_what_is_recorded_of_a_round_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = GOOD | {"insights": insights(SCRATCHPAD + "- 7.5 8.5 9.5\n" * 900)}
    assert len(run_round(Recorder(tmp_path, many)).corrections) == MOST_CORRECTIONS
    monkeypatch.setattr("evolve.insights.summarizer.MOST_BYTES", 5000)
    too_long = run_round(Recorder(tmp_path, GOOD))
    (problem,) = too_long.problems
    assert (too_long.report, too_long.pending, problem.step) == (None, (), "report")
    assert re.fullmatch(r"it is \d+ bytes long, and at most 5000 are kept", problem.why)
    assert too_long == Round(problems=(Problem(step="report", why=problem.why),))


def test_how_a_program_did_is_codes_own_statement(tmp_path: Path) -> None:
    report = run_round(Recorder(tmp_path, GOOD)).report
    assert report is not None
    measured = {summary.generation: shown(summary.performance) for summary in report.summaries}
    assert measured[7] == "generation 4 to 7 (26.2410 -> 26.2480, 0.0070 better); 0.0079 below the ceiling of 26.2560."
    assert measured[5] == "generation 5 (failed: cpu_limit): `instance 0: more than 5 s of CPU`."
    assert measured[13] == "generation 13 (quarantined): `instance 3 beats its proven bound`."
    assert measured[15] == "generation 15 (26, its parent failed); 0.2560 below the ceiling of 26.2560."
    assert "perfect" not in markdown(report)


def test_the_prompts_hold_the_evidence_and_say_what_failed(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    run_round(ask)
    assert list(ask.asked) == ["meta/1/summaries/1/0", "meta/1/insights/1/0"]
    first, second = ask.asked.values()
    assert re.findall(r"^# Generation (\d+):", first, re.MULTILINE) == [str(number) for number in ASKED_OF]
    assert "not correct: say what failed" in first and "NameError: name 'fullest' is not defined" in first
    assert overview(Evidence(a_run())) in second
    assert "generation 7, combined_score = 26.2480" in second
    assert "generation 11 (failed: NameError)" in second
    assert all("[gen 12]" in prompt and "Write no other figures" in prompt for prompt in ask.asked.values())
    assert "its parent (combined_score = 26.2410): 0.0070 better" in first
    assert "+def swap_one_one(packing):" in first
    for step, prompt in zip(("summaries", "insights"), ask.asked.values(), strict=True):
        golden = DATA / f"prompt_{step}.txt"
        if "UPDATE_GOLDEN" in os.environ:
            golden.write_text(prompt, encoding="utf-8")
        assert prompt == golden.read_text(encoding="utf-8")


def test_summaries_that_do_not_fit_into_one_prompt_are_asked_for_in_parts(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD)
    split = run_round(ask, prompt_tokens=3_000)
    assert list(ask.asked) == ["meta/1/summaries/1/0", "meta/1/summaries/2/0", "meta/1/insights/1/0"]
    assert split == run_round(Recorder(tmp_path, GOOD))


def test_a_program_that_does_the_same_as_another_one_needs_no_call(tmp_path: Path) -> None:
    facts = a_run()
    facts[12] = dataclasses.replace(facts[12], same_as=7)
    ask = Recorder(tmp_path, GOOD)
    report = run_round(ask, new=facts).report
    assert "# Generation 12:" not in ask.asked["meta/1/summaries/1/0"]
    assert report is not None
    summary = next(one for one in report.summaries if one.generation == 12)
    assert "It does on every instance the same as generation 7." in shown(summary.implementation)
    only = Recorder(tmp_path, GOOD)
    run_round(only, new=[facts[0], facts[12]])
    assert list(only.asked) == ["meta/1/insights/1/0"]


def test_plain_prose_without_headings_is_used_as_it_is(tmp_path: Path) -> None:
    prose = {"summaries": "They swap models.", "insights": "Swapping helped.\n\n1. Swap three.\n2. Start again.\n"}
    result = run_round(Recorder(tmp_path, prose))
    assert result.report is not None and result.failures == ()
    assert shown(result.report.scratchpad.preface) == "Swapping helped."
    assert [shown(one.whole) for one in result.report.recommendations] == ["Swap three.", "Start again."]
    assert "Changed: `add swap_one_one`." in shown(
        next(one for one in result.report.summaries if one.generation == 7).implementation
    )
    one = Recorder(tmp_path, {"summaries": "It swaps two models.", "insights": "x"})
    report = run_round(one, new=[a_run()[7]]).report
    assert report is not None and shown(report.summaries[0].implementation) == "It swaps two models."


def test_each_call_is_made_of_what_is_on_record_then(tmp_path: Path) -> None:
    facts, ask = a_run(), Recorder(tmp_path, GOOD)
    early, late = (
        SummaryRequest(state=START, evidence=Evidence(facts[:count]), new=facts[:5], best_source="", ask=ask)
        for count in (5, 16)
    )
    ModelSummarizer(render=PROMPTS.fill, prompt_tokens=32_000).summarise(
        dataclasses.replace(early, at_next_call=lambda: late)
    )
    assert "The best program is generation 7" in ask.asked["meta/1/insights/1/0"]


def test_a_figure_in_the_reason_of_a_models_patch_reaches_no_prompt(tmp_path: Path) -> None:
    facts = a_run()
    boast = dataclasses.replace(facts[7].origin, model="gpt-4", description="A 2-opt move that gains 4711 points.")
    facts[7] = dataclasses.replace(facts[7], origin=boast)
    ask = Recorder(tmp_path, GOOD | {"summaries": summaries(7)})
    result = run_round(ask, new=facts)
    assert "| A 2-opt move that gains [unverified] points." in ask.asked["meta/1/summaries/1/0"]
    assert not [key for key, prompt in ask.asked.items() if "4711" in prompt]
    assert result.report is not None
    assert "4711" not in markdown(result.report)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": "server_error"}, "insights: "),
        (" ", "insights: the answer is empty"),
        ({"text": "no", "finish_reason": "refusal"}, "insights: the answer ended with refusal"),
    ],
)
def test_a_call_that_fails_loses_nothing_and_is_tried_again(tmp_path: Path, answer: Any, problem: str) -> None:
    before = START.after(run_round(Recorder(tmp_path, GOOD), new=a_run()[:8]))
    new = a_run()[7:]
    ask = Recorder(tmp_path, {}.fromkeys(["summaries"], "unused"), GOOD | {"insights": answer}, GOOD)
    failed = run_round(ask, before, new=new)
    assert failed.report is None and len(failed.failures) == 1 and failed.failures[0].startswith(problem)
    assert {s.generation for s in failed.pending} == {f.generation for f in new if f.is_program}
    # The round survives: what was paid for is not asked again, and the report before it stays in force.
    recorded = Round.model_validate(json.loads(json.dumps(failed.model_dump(mode="json"))))
    assert recorded == failed
    state = before.after(recorded)
    assert state.report == before.report is not None
    ask.asked.clear()
    again = run_round(ask, state, new=new)
    assert again.problems == () and again.report is not None and state.after(again).rounds == 3
    assert list(ask.asked) == ["meta/3/insights/1/0"]
    assert [s.generation for s in again.report.summaries] == [f.generation for f in new if f.is_program]


def test_a_call_whose_answer_is_of_no_use_is_repeated_once(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD | {"insights/1/0": " ", "summaries/1/0": {"text": "x", "finish_reason": "length"}})
    result = run_round(ask)
    assert list(ask.asked) == [f"meta/1/{step}/1/{attempt}" for step in GOOD for attempt in (0, 1)]
    assert result.report is not None and result.problems == ()
    never = Recorder(tmp_path, GOOD | {"insights": " "})
    assert run_round(never).report is None
    assert len(never.asked) == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": "timeout"}, ""),
        ({"text": "", "finish_reason": "content_filter"}, "the answer ended with content_filter"),
        (summaries(7), "the answer says nothing of it"),
    ],
)
def test_a_summary_that_cannot_be_had_is_written_by_code_and_asked_for_again_if_the_round_fails(
    tmp_path: Path, answer: Any, problem: str
) -> None:
    without = GOOD | {"summaries": answer}
    ask = Recorder(tmp_path, without | {"insights": " "}, without)
    first = run_round(ask)
    assert first.report is None
    assert 7 not in {summary.generation for summary in first.pending}
    assert ("summaries", 7) in [(one.step, one.generation) for one in first.problems]
    assert first.problems[-1].step == "insights"
    ask.asked.clear()
    second = run_round(ask, START.after(first))
    assert "# Generation 7:" in ask.asked["meta/2/summaries/1/0"]
    assert second.report is not None
    summary = next(s for s in second.report.summaries if s.generation == 7)
    assert shown(summary.implementation).endswith("Changed: `add swap_one_one`.")
    assert second.failures == ()
    assert any(note.startswith(f"Generation 7: summarised by code ({problem}") for note in second.notes)


def test_the_earlier_scratchpad_and_recommendations_reach_the_next_prompts(tmp_path: Path) -> None:
    ask = Recorder(tmp_path, GOOD, GOOD)
    first = run_round(ask, new=a_run()[:8])
    run_round(ask, START.after(first), new=a_run()[8:])
    prompt = ask.asked["meta/2/insights/1/0"]
    assert "what lifts the score: generation 0 to 2 (21.8916 -> 26.2332, 4.3416 better)." in prompt
    first_idea = (
        "| 1.  **Idea [unverified]**: do it at once, as generation 1 (22.3385, 0.4469 better than its parent) did."
    )
    assert first_idea in prompt


def test_a_round_without_programs_still_learns(tmp_path: Path) -> None:
    result = run_round(Recorder(tmp_path, GOOD), new=[fact for fact in a_run() if not fact.is_program])
    assert result.report is not None and result.report.summaries == ()


def test_offline_rounds_count_on() -> None:
    def nobody(key: str, prompt: str) -> Completion:
        raise AssertionError(key)

    facts = a_run()
    request = SummaryRequest(state=START, evidence=Evidence(facts), new=facts, best_source="", ask=nobody)
    result = OfflineSummarizer().summarise(request)
    state = START.after(result)
    assert (state.rounds, state.report) == (1, result.report)
    again = OfflineSummarizer().summarise(dataclasses.replace(request, state=state, new=[]))
    assert state.after(again).rounds == 2


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
def test_any_answer_is_read(text: str) -> None:
    notes, advice = read_insights(text)
    assert len(notes) == 1 + len(SECTIONS) and all(advice)
    assert set(read_summaries(text, [1, 2])) <= {1, 2}
