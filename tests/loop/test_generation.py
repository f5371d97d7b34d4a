"""One generation, driven by hand as a reader would: each step that it waits for, and what is on record by then."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.events import Status
from evolve.core.completion import CallFailed, Completion
from evolve.loop.executor import BudgetReached, Steps
from evolve.loop.generation import confirming, generation
from evolve.progress import Confirmed, Evaluated, Refused
from evolve.search.strategies import recall
from tests.loop.by_hand import Run, begun, taken_up
from tests.loop.climbing import configure, events, model, patch, script

Begin = Callable[..., Run]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Begins the run `r` with these keys of the configuration; nobody asks its scripted model."""
    opened: list[Any] = []

    def make(**keys: Any) -> Run:
        config = configure(tmp_path, **({"models": [script(tmp_path, [patch(1)])]} | keys))
        opened.append(begun(tmp_path / "runs" / "r", config))
        run: Run = opened[-1].__enter__()
        return run

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def says(text: str) -> Completion:
    return Completion(text=text)


def evaluated(steps: Steps, answer: str) -> list[str]:
    """Send an answer to a generation that waits for one, and see to all that it waits for then; the phases."""
    phases, wait = [], steps.send(says(answer))
    try:
        while True:
            phases.append(wait.kind)
            wait = steps.send(wait.work())
    except StopIteration:
        return phases


def last(tmp_path: Path) -> dict[str, Any]:
    return events(tmp_path)[-1]


def test_the_way_of_a_program_that_becomes_the_best(begin: Begin, tmp_path: Path) -> None:
    run = begin()
    steps = generation(run.context, 1)
    assert next(steps).kind == "asking"
    asked = last(tmp_path)
    assert (asked["event"], asked["generation"], asked["attempt"], asked["position"]) == ("asked", 1, 0, 1)
    assert "OFFSET = 60" in run.archive.reader.text(asked["prompt"]), "the prompt shows the parent"

    wait = steps.send(says(patch(1, name="nearer")))
    assert wait.kind == "evaluating"
    assert last(tmp_path)["event"] == "answered", "it is written down before anything is done with it"
    assert list(run.context.building.values()) == [1]

    with pytest.raises(StopIteration):
        steps.send(wait.work())
    output = run.watch.events[-1]
    assert isinstance(output, Evaluated) and output.provisional
    assert output.parent_score == run.archive.reader.programs[0].combined_score
    initial, made = run.archive.reader.programs
    assert (run.archive.reader.best, run.archive.reader.would_lead) == (initial, made)
    assert run.archive.reader.evaluation(made).strict is None
    assert run.context.building == {}
    assert run.search.choose(2).parent == made, "the search learned of it"

    steps = confirming(run.context)
    wait = next(steps)
    assert wait.kind == "confirming"
    with pytest.raises(StopIteration):
        steps.send(wait.work())
    best = run.archive.reader.best
    assert best is not None and (best.generation, best.origin.patch_name) == (1, "nearer")
    strict = run.archive.reader.evaluation(best).strict
    assert strict is not None and strict.agrees
    output = run.watch.events[-1]
    assert isinstance(output, Confirmed) and output.is_best
    assert run.archive.reader.would_lead is None
    assert run.search.choose(2).parent == best


def test_a_program_that_is_no_better_is_not_confirmed(begin: Begin) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    assert evaluated(steps, patch(-5)) == ["evaluating"]
    assert run.archive.reader.best is run.archive.reader.programs[0]
    assert run.archive.reader.evaluation(run.archive.reader.programs[1]).strict is None


@pytest.mark.parametrize("keys", [{"attempts": 1}, {"models": []}])
def test_a_program_that_fails_is_recorded_with_its_failure(begin: Begin, keys: dict[str, Any]) -> None:
    """Nothing goes back where no attempt is left, nor to the offline proposer."""
    run = begin(**keys)
    steps = generation(run.context, 1)
    next(steps)
    assert evaluated(steps, patch("OFFSET = None")) == ["evaluating"]
    assert run.archive.reader.statuses[1] is Status.EVALUATED
    assert not run.archive.reader.programs[1].correct


def test_a_program_that_fails_goes_back_where_an_attempt_is_left(begin: Begin) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    evaluating = steps.send(says(patch("OFFSET = None")))
    assert steps.send(evaluating.work()).kind == "asking"
    output = run.watch.events[-1]
    assert isinstance(output, Refused) and (output.reason, output.final) == ("exception", False)
    assert run.context.building == {}
    assert evaluated(steps, patch("OFFSET = 'x'")) == ["evaluating"], "it goes back once"
    assert run.archive.reader.statuses[1] is Status.EVALUATED
    assert len(run.archive.reader.programs) == 2


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_an_answer_that_cannot_be_used_goes_back_with_the_reason(begin: Begin, attempts: int) -> None:
    run = begin(attempts=attempts)
    steps = generation(run.context, 1)
    wait = next(steps)
    for attempt in range(attempts - 1):
        assert wait.kind == "asking"
        wait = steps.send(says("Let us talk."))
        record = run.archive.reader.attempts(1)[attempt]
        question = run.archive.reader.attempts(1)[attempt + 1]
        assert (record.status, record.reason) == (Status.REFUSED, "no_patch")
        assert record.message is not None and question.prompt is not None
        assert record.message.splitlines()[0] in run.archive.reader.text(question.prompt)
    with pytest.raises(StopIteration):
        steps.send(says("Let us talk."))
    assert run.archive.reader.statuses[1] is Status.REFUSED
    assert len(run.archive.reader.attempts(1)) == attempts
    output = [event for event in run.watch.events if isinstance(event, Refused)]
    assert [event.final for event in output] == [False] * (attempts - 1) + [True]
    assert run.archive.reader.ended == 2


def test_a_repaired_answer_becomes_a_program_with_the_same_choice(begin: Begin) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    steps.send(says("Let us talk."))
    assert evaluated(steps, patch(1)) == ["evaluating"]
    assert [attempt.status for attempt in run.archive.reader.attempts(1)] == [Status.REFUSED, Status.EVALUATED]
    assert run.archive.reader.programs[1].parents == (run.archive.reader.programs[0].commit,)


def test_a_prompt_that_is_too_long_is_a_refusal_on_record(begin: Begin, tmp_path: Path) -> None:
    run = begin(prompt_tokens=500)
    with pytest.raises(StopIteration):
        next(generation(run.context, 1))
    assert run.archive.reader.statuses[1] is Status.REFUSED
    (attempt,) = run.archive.reader.attempts(1)
    assert (attempt.reason, attempt.prompt) == ("prompt_too_long", None)
    assert "prompt_tokens allows 500" in (attempt.message or "")
    assert [event["event"] for event in events(tmp_path)][-2:] == ["asked", "refused"]


def test_the_same_program_under_way_is_a_duplicate_of_that_generation(begin: Begin, tmp_path: Path) -> None:
    run = begin(attempts=1)
    first, second = generation(run.context, 1), generation(run.context, 2)
    next(first)
    next(second)
    wait = first.send(says(patch(1, name="one")))
    with pytest.raises(StopIteration):
        second.send(says(patch("OFFSET -= 1  # in other words", name="two")))
    assert run.archive.reader.statuses[2] is Status.DUPLICATE
    assert last(tmp_path)["duplicate_of"] == 1
    with pytest.raises(StopIteration):
        first.send(wait.work())
    assert [record.generation for record in run.archive.reader.programs] == [0, 1]


def test_what_was_closed_is_under_way_no_more(begin: Begin) -> None:
    run = begin(attempts=1)
    first, second = generation(run.context, 1), generation(run.context, 2)
    next(first)
    next(second)
    first.send(says(patch(1)))
    first.close()
    assert run.context.building == {}
    assert second.send(says(patch(1))).kind == "evaluating"


def test_closed_before_its_answer_it_is_asked_again_as_it_was(begin: Begin, tmp_path: Path) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    steps.close()
    question = last(tmp_path)
    (unfinished,) = run.archive.reader.unfinished()
    assert (unfinished.generation, unfinished.attempt, unfinished.answer) == (1, 0, None)
    run.archive.lost(1, 0)
    assert next(generation(run.context, 1, unfinished)).kind == "asking"
    again = last(tmp_path)
    assert {**again, "seq": 0, "t": 0} == {**question, "seq": 0, "t": 0}


def test_closed_after_its_answer_it_is_judged_and_not_asked_again(begin: Begin, tmp_path: Path) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    steps.send(says("Let us talk."))
    steps.send(says(patch(1)))
    steps.close()
    (unfinished,) = run.archive.reader.unfinished()
    assert (unfinished.attempt, len(unfinished.refusals)) == (1, 1)
    taken = generation(run.context, 1, unfinished)
    wait = next(taken)
    assert wait.kind == "evaluating"
    with pytest.raises(StopIteration):
        taken.send(wait.work())
    assert sum(event["event"] == "asked" for event in events(tmp_path)) == 2
    assert run.archive.reader.statuses[1] is Status.EVALUATED


def test_a_refused_answer_that_was_cut_off_is_refused_by_the_next_session(begin: Begin) -> None:
    run = begin(attempts=2)
    steps = generation(run.context, 1)
    next(steps)
    run.archive.answered(1, 0, says("Let us talk."))
    steps.close()
    (unfinished,) = run.archive.reader.unfinished()
    assert next(generation(run.context, 1, unfinished)).kind == "asking"
    assert [attempt.status for attempt in run.archive.reader.attempts(1)] == [Status.REFUSED, Status.ASKED]


def test_without_an_answer_it_has_failed(begin: Begin) -> None:
    run = begin()
    steps = generation(run.context, 1)
    next(steps)
    with pytest.raises(StopIteration):
        steps.throw(CallFailed("timeout", "no whole answer within 1 s"))
    assert run.archive.reader.statuses[1] is Status.FAILED
    assert run.archive.reader.attempts(1)[-1].reason == "timeout"
    assert run.archive.reader.ended == 2


def test_what_the_budget_does_not_allow_is_not_on_record(begin: Begin, tmp_path: Path) -> None:
    run = begin(models=[model("http://127.0.0.1:9/v1", api_key_env=None)], budget_usd=0.000001)
    before = events(tmp_path)
    with pytest.raises(BudgetReached):
        next(generation(run.context, 1))
    assert events(tmp_path) == before


def test_a_model_that_is_asked_no_more_is_not_asked_again(begin: Begin, tmp_path: Path) -> None:
    """It was cut off with a question to a model that has been given weight 0 since."""

    def two(weight: float) -> list[dict[str, Any]]:
        keys = {"url": "http://127.0.0.1:9/v1", "api_key_env": None}
        return [model(**keys, weight=weight), model(**keys, name="other", weight=1 - weight)]

    run = begin(models=two(1.0))
    next(generation(run.context, 1))
    assert last(tmp_path)["model"] == "m"
    run.archive.close()
    with taken_up(tmp_path / "runs" / "r", configure(tmp_path, models=two(0.0))) as later:
        recall(later.search, later.archive.reader.history())
        for _ in range(2):
            (unfinished,) = later.archive.reader.unfinished()
            next(generation(later.context, 1, unfinished))
            assert (last(tmp_path)["model"], last(tmp_path)["instead_of"]) == ("other", "m")
