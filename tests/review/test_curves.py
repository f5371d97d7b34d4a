"""How good the best was after how much, of runs recorded by the real archive."""

from fractions import Fraction

import pytest

from evaluator.objective import Direction
from evolve.archive.events import read_event
from evolve.archive.ranking import new_bests
from evolve.archive.timeline import Timeline
from evolve.core.usage import Usage
from evolve.review.curves import curve, sampled, shipped_elsewhere, sparkline, spent_on, value_within

PAID = {"usage": Usage(tokens_in=10, tokens_out=20, cost_usd=0.5, latency_s=1.0)}


@pytest.fixture(scope="module")
def archive(recorded_runs, make_evaluation):
    """0 initial (20), 1 better (22), 2 refused, 3 failing, 4 the best (25), 5 under way."""
    run = recorded_runs("curves")
    initial = run.initial(evaluation=make_evaluation(score=20.0))
    run.propose(1, [initial], source="1", evaluation=make_evaluation(score=22.0), **PAID)
    run.ask(2, [initial], **PAID)
    run.archive.refused(2, 0, reason="no_match", message="no", final=True)
    run.propose(3, [initial], source="3", evaluation=make_evaluation((Fraction(1), None), score=99.0), **PAID)
    run.propose(4, [initial], source="4", evaluation=make_evaluation(score=25.0), **PAID)
    run.ask(5, [initial], **PAID)
    return run.archive.reader


def test_a_curve_has_a_point_for_each_generation_that_ended(archive):
    points = curve(archive)
    assert [point.generation for point in points] == [0, 1, 2, 3, 4]
    assert [point.attempts for point in points] == [0, 1, 2, 3, 4]
    assert [point.value for point in points] == [20.0, 22.0, 22.0, 22.0, 25.0]  # a failing one is never the best
    assert [point.usd for point in points] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert [point.tokens for point in points] == [0, 30, 60, 90, 120]
    assert sorted(point.seconds for point in points) == [point.seconds for point in points]


def test_a_curve_holds_values_of_the_judge_that_scores_now(recorded_runs, make_evaluation):
    """Of what was recorded before the judge changed, the programs that were scored again count, from when they came."""
    run = recorded_runs("two_judges")
    initial = run.initial(evaluation=make_evaluation(score=25.0))
    for generation, score in enumerate((25.1, 25.2, 25.3, 25.15), 1):
        run.propose(generation, [initial], source=f"{generation}", evaluation=make_evaluation(score=score))
    archive, writer = run.archive.reader, run.archive
    writer.resumed(identity={"evaluator_version": "v2"}, rescore=[0, 3, 2])
    assert [point.value for point in curve(archive)] == [None] * 5
    writer.rescored(0, make_evaluation(score=20.0, version="v2"))
    writer.rescored(3, make_evaluation(score=23.0, version="v2"))
    writer.rescored(2, make_evaluation(score=24.0, version="v2"))
    run.propose(5, [initial], source="5", evaluation=make_evaluation(score=24.5, version="v2"))
    assert [point.value for point in curve(archive)] == [20.0, 20.0, 24.0, 24.0, 24.0, 24.5]
    assert value_within(curve(archive), "attempts", 1) == 20.0
    assert sampled(archive) == [20.0, 20.0, 24.0, 24.0, 24.0, 24.5]
    assert [program.generation for program in new_bests(archive.programs)] == [0, 2, 5]


def test_the_best_within_a_budget_is_that_of_the_last_one_that_ended_within_it(archive):
    points = curve(archive)
    assert value_within(points, "attempts", 3) == 22.0
    assert value_within(points, "attempts", 4) == 25.0
    assert value_within(points, "usd", 1.99) == 22.0
    assert value_within(points, "tokens", 1000) == 25.0
    assert value_within(points, "attempts", -1) is None
    assert spent_on(points, "usd") == 2.0
    assert spent_on([], "usd") == 0.0


def test_a_run_in_a_row_of_blocks(archive):
    assert sampled(archive) == [20.0, 22.0, 22.0, 22.0, 25.0]
    assert sampled(archive, 2) == [22.0, 25.0]
    assert sparkline([20.0, 22.0, 22.0, 22.0, 25.0], Direction.MAXIMISE) == "▁▄▄▄█"
    assert sparkline([3.0, 2.0, 1.0], Direction.MINIMISE) == "▁▅█"
    assert sparkline([None, 1.0, 1.0], Direction.MAXIMISE) == " ▁▁"
    assert sparkline([None], Direction.MAXIMISE) == sparkline([], Direction.MAXIMISE) == ""
    assert sparkline([-1.7e308, 1.7e308], Direction.MAXIMISE) == "▁█"


BEGUN = {"format": 3, "identity": {"task": "t", "suite": "s"}, "config": "0" * 64}
BY_NAME = {
    "created": BEGUN,
    "asked": {"attempt": 0, "kind": "diff", "model": "m", "prompt": None, "parents": ["0" * 40]}
    | {"inspirations": [], "island": 0, "estimate_usd": 0.0, "position": 0},
    "answered": {"attempt": 0, "answer": "0" * 40, "finish_reason": "stop"}
    | {"tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0, "estimated": False},
    "called": {"call": 0, "phase": "calling", "status": "calling", "model": "m", "http_status": None, "message": ""}
    | {"tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0, "estimated": False, "measured": {"latency_s": 0.0}},
    "excluded": {},
}


def add_events(timeline, events):
    for event in events:
        timeline.add(read_event({"seq": 0, **BY_NAME.get(event["event"], {}), **event}))


def test_the_time_between_two_sessions_is_no_work_and_a_note_is_none_either():
    timeline = Timeline()
    events = [
        {"event": "created", "t": 100},
        {"event": "asked", "t": 110, "generation": 1},
        {"event": "stopped", "t": 120, "reason": "generations"},
        {"event": "noted", "t": 900, "generation": 1, "text": "good"},
        {"event": "resumed", "t": 1000, "changed": {}},
        {"event": "asked", "t": 1030, "generation": 2},
    ]
    add_events(timeline, events)
    assert [timeline.seconds(t) for t in (100, 110, 120, 1000, 1030)] == [0, 10, 20, 20, 50]
    assert timeline.seconds() == 50
    assert [session.event for session in timeline.sessions] == ["created", "stopped", "resumed"]


@pytest.mark.parametrize("ended", [True, False])
def test_the_time_before_a_search_between_two_sessions_is_no_work_and_the_search_is(ended):
    timeline = Timeline()
    search = {"generation": 2, "tuning": {"evaluations": 25}}
    events = [
        {"event": "created", "t": 100},
        {"event": "asked", "t": 110, "generation": 1, "kind": "tune"},  # within a session its question comes first
        {"event": "answered", "t": 119, **search, "measured": {"latency_s": 8.9}},
        {"event": "stopped", "t": 120, "reason": "generations"}
        if ended
        else {"event": "asked", "t": 120, "generation": 1},
        {"event": "noted", "t": 900, "generation": 1, "text": "good"},
        {"event": "asked", "t": 1000, "generation": 2, "kind": "tune"},
        {"event": "answered", "t": 1000.1, **search, "measured": {"latency_s": 8.1}},
        {"event": "excluded", "t": 1001, "generation": 2},
        {"event": "resumed", "t": 2000, "changed": {}},
        {"event": "asked", "t": 2010, "generation": 3},
    ]
    add_events(timeline, events)
    times = [timeline.seconds(t) for t in (119, 120, 1000, 1001, 2000, 2010)]
    assert times == pytest.approx([19, 20, 28, 29, 29, 39])


def test_only_what_an_event_was_about_has_changed_since():
    timeline = Timeline()
    assert timeline.touched(0) == []
    for generation in (1, 2, 1, 3):
        add_events(timeline, [{"event": "asked", "t": 1, "generation": generation}])
    add_events(timeline, [{"event": "called", "t": 2, "key": key} for key in ("patch/2/0", "meta/10/insights/1/0")])
    assert timeline.touched(0) == [1, 2, 3]
    assert timeline.touched(3) == [2, 3]
    assert timeline.touched(4) == [2]
    assert timeline.touched(timeline.events) == []


def test_what_shipped_programs_reach_is_known_of_the_other_suites_and_of_none_that_is_held_out():
    reached = shipped_elsewhere("placement", "adrs")
    assert list(reached) == ["tight", "skewed", "fleet"]
    assert all(0.99 < share <= 1 for share in reached.values())
    assert "adrs" in shipped_elsewhere("placement", "tight")
    assert shipped_elsewhere("tours", "points") == shipped_elsewhere("mine", "default") == {}
