"""What every summarizer promises, for each that there is."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.task_files import load_task
from evolve.archive.reports import Round, markdown
from evolve.core.completion import CallFailed, Completion, MetaKey
from evolve.insights.summarizer import ModelSummarizer, OfflineSummarizer, SummaryRequest
from evolve.propose.prompts import Prompts
from evolve.seams import Summarizer
from tests.loop.by_hand import begun
from tests.loop.climbing import TASK
from tests.loop.killing import META, scripted


class Answers:
    """A model that writes documents, as a round meets it: recorded by key."""

    def __init__(self, fails: str = "never") -> None:
        self.keys: list[MetaKey] = []
        self._fails = fails
        self._lock = threading.Lock()

    def __call__(self, key: MetaKey, prompt: str) -> Completion:
        with self._lock:
            self.keys.append(key)
        if self._fails in ("all", str(key.question)):
            raise CallFailed("timeout", "no whole answer within 1 s")
        return Completion(text=META[key.question.step])


@pytest.fixture(params=["offline", "model"])
def summarizer(request: pytest.FixtureRequest) -> Summarizer:
    if request.param == "offline":
        return OfflineSummarizer()
    task = load_task(str(TASK))
    prompts = Prompts(task=task, suite=task.suite(), folder=None, max_tokens=32_000)
    return ModelSummarizer(render=prompts.fill, prompt_tokens=32_000)


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SummaryRequest]:
    """A round over a run of 14 generations that had none: programs that climb, one that fails, refusals, failures."""
    folder = tmp_path_factory.mktemp("due")
    config = scripted(folder, parallel=1, generations=14)
    text = Path(config).read_text().replace("meta_every: 4", "meta_every: 1000")
    Path(config).write_text(text)
    with begun(folder / "runs" / "r", config) as run:
        run.go()
        run.context.summaries.restore()
        yield replace(run.context.summaries.begin(run.context.summaries.asker()), at_next_call=None)


def test_a_document_is_about_every_new_program_and_can_be_read_again(
    summarizer: Summarizer, due: SummaryRequest
) -> None:
    result = summarizer.summarise(replace(due, ask=Answers()))
    assert result.report is not None
    assert result.problems == ()
    assert markdown(result.report)
    assert Round.model_validate(json.loads(json.dumps(result.model_dump(mode="json")))) == result
    programs = [fact.generation for fact in due.new if fact.is_program]
    assert [summary.generation for summary in result.report.summaries] == programs
    assert len(programs) >= 8
    assert result.report.recommendations


def test_it_says_the_same_again(summarizer: Summarizer, due: SummaryRequest) -> None:
    first, again = (summarizer.summarise(replace(due, ask=Answers())) for _ in range(2))
    assert again == first


def test_its_state_can_be_recorded_and_taken_up(summarizer: Summarizer, due: SummaryRequest) -> None:
    result = summarizer.summarise(replace(due, ask=Answers()))
    recorded = Round.model_validate(json.loads(json.dumps(result.model_dump(mode="json"))))
    state = due.state.after(recorded)
    asked, again = Answers(), Answers()
    following = summarizer.summarise(replace(due, state=due.state.after(result), new=due.new[:1], ask=asked))
    assert summarizer.summarise(replace(due, state=state, new=due.new[:1], ask=again)) == following
    assert sorted(again.keys, key=str) == sorted(asked.keys, key=str)


def test_no_request_is_put_twice_and_each_round_has_requests_of_its_own(
    summarizer: Summarizer, due: SummaryRequest
) -> None:
    first, second = Answers(), Answers()
    result = summarizer.summarise(replace(due, ask=first))
    summarizer.summarise(replace(due, state=due.state.after(result), ask=second))
    keys = first.keys + second.keys
    assert len(set(keys)) == len(keys)
    assert {key.round for key in first.keys} <= {1}


@pytest.mark.parametrize("fails", ["all", "summaries/1/0", "insights/1/0"])
def test_a_failing_step_is_reported_and_raises_nothing(summarizer: Summarizer, due: SummaryRequest, fails: str) -> None:
    ask = Answers(fails)
    result = summarizer.summarise(replace(due, ask=ask))
    assert (result.report is None) == bool(result.failures)
    assert bool(result.problems) == bool(ask.keys)
    later = Answers()
    after = summarizer.summarise(replace(due, state=due.state.after(result), ask=later))
    assert after.report is not None, "the next round goes on"
    assert not set(later.keys) & set(ask.keys)
