"""What is said of a run at its end: why nothing improved since the best came. Its counts add up to the proposals."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.records import ProgramRecord
from evolve.review.run_end import standstill
from tests.builders import make_evaluation, make_question
from tests.examples import part_of_the_examples

ENDINGS = ("worse", "no_better", "same", "failed", "refused", "duplicate", "unanswered")


def end(run: Any, number: int, parent: ProgramRecord, how: str) -> None:
    """Let a proposal end in one of these ways, or with a new best."""

    def program(cost: int | None, score: float) -> None:
        evaluation = make_evaluation([None if cost is None else Fraction(cost)], score=score)
        run.propose(number, [parent], source=f"a = {number}\n", evaluation=evaluation)

    match how:
        case "best":
            program(1000 + number, 20.0 + number / 10)
        case "worse":
            program(2000 + number, 1.0)
        case "no_better":
            best = run.archive.reader.best
            assert best is not None
            program(3000 + number, best.combined_score)
        case "same":
            program(7, 5.0)
        case "failed":
            program(None, 0.0)
        case "refused":
            run.ask(number, [parent])
            run.archive.refused(number, 0, reason="no_match", message="It matches nothing.", final=True)
        case "duplicate":
            run.ask(number, [parent])
            run.archive.refused(number, 0, reason="duplicate", message="Known.", final=True, duplicate_of=0)
        case "unanswered":
            run.archive.asked(make_question(number, [parent]), "a prompt")
            run.archive.failed(number, 0, reason="timeout", message="No answer came.")
        case "open":
            run.ask(number, [parent])


@pytest.fixture
def begun(recorded_runs: Callable[..., Any]) -> tuple[Any, ProgramRecord]:
    run = recorded_runs("ended")
    return run, run.initial(evaluation=make_evaluation([Fraction(7)], score=20.0))


def test_it_is_said_how_often_and_why_most_frequent_first(begun: tuple[Any, ProgramRecord]) -> None:
    run, initial = begun
    hows = [
        "same",
        "best",
        "worse",
        "refused",
        "open",
        "unanswered",
        "worse",
        "failed",
        "duplicate",
        "same",
        "no_better",
    ]
    for number, how in enumerate([*hows, "failed", "worse", "same"], 1):
        end(run, number, initial, how)
    found = standstill(run.archive.reader)
    assert found is not None
    assert found["text"] == (
        "Nothing improved in the last 11 proposals: 3 were worse, 2 did the same as an earlier program, 2 failed, "
        "1 was no better, 1 was refused, 1 was a duplicate, 1 got no answer."
    )


def test_of_few_proposals_nothing_is_said_and_of_a_run_without_a_best_nothing_is_known(
    recorded_runs: Callable[..., Any],
) -> None:
    run = recorded_runs("short")
    initial = run.initial(evaluation=make_evaluation([None], score=0.0))
    for number in (1, 2, 3):
        end(run, number, initial, "failed")
    assert standstill(run.archive.reader) is None
    end(run, 4, initial, "best")
    for number in (5, 6):
        end(run, number, initial, "failed")
        assert standstill(run.archive.reader) == {"proposals": number - 4, "text": None} | dict.fromkeys(ENDINGS, 0) | {
            "failed": number - 4
        }


def test_once_the_best_is_excluded_the_count_begins_again(begun: tuple[Any, ProgramRecord]) -> None:
    run, initial = begun
    for number, how in enumerate(["best", "worse", "worse", "worse"], 1):
        end(run, number, initial, how)
    run.archive.excluded(1)
    end(run, 5, initial, "worse")
    found = standstill(run.archive.reader)
    assert found is not None
    assert (found["proposals"], found["worse"], found["text"]) == (1, 1, None)


@part_of_the_examples(13)
@given(hows=st.lists(st.sampled_from((*ENDINGS, "best", "open")), max_size=9))
def test_the_counts_are_those_of_the_proposals_since_the_best_and_add_up(
    recorded_runs: Callable[..., Any], hows: list[str]
) -> None:
    since: list[str] = []
    run = recorded_runs("counted")
    initial = run.initial(evaluation=make_evaluation([Fraction(7)], score=20.0))
    for number, how in enumerate(hows, 1):
        end(run, number, initial, how)
        since = [] if how == "best" else since + [how] * (how != "open")
        found = standstill(run.archive.reader)
        assert found is not None
        assert {name: found[name] for name in ENDINGS if found[name]} == Counter(since)
        assert sum(found[name] for name in ENDINGS) == found["proposals"] == len(since)
        assert (found["text"] is None) == (len(since) < 3)
