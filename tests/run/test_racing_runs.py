"""A raced run is the run without racing, but for the programs whose evaluation was stopped."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluation import Outcome
from tests.run.climbing import (
    configure,
    count,
    events,
    evolve,
    finish,
    in_fork,
    kill,
    opened,
    patch,
    script,
    wait_until,
)

RACE = Path(__file__).resolve().parent.parent / "data" / "race"
STEPS = [20.3, 9.1, 11.7, 4, -31.2, 2.9, -8.4, 39.5, 6, 13.6, -57.1, 1.9, -2.2, 27.3, 5, 3.7, -19.6, 0.8, 41.1, -5.5]
BROKEN = {4: "OFFSET = 'none'", 9: "OFFSET = 1 / 0", 15: "print('slow')"}


def settings(folder: Path, **keys: Any) -> str:
    """Twenty steps by a script, some away from the goal and two that break the program."""
    folder.mkdir(exist_ok=True)
    answers = [patch(BROKEN.get(number, step), name=f"step_{number}") for number, step in enumerate(STEPS, 1)]
    search = {"elites": 3, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}, **keys.pop("search", {})}
    models = [script(folder, answers)]
    return configure(folder, task=str(RACE), generations=len(STEPS), models=models, search=search, **keys)


def run(folder: Path, *, racing: bool, **keys: Any) -> list[dict[str, Any]]:
    finish(folder, "run", settings(folder, search={"racing": racing}, **keys), "--name", "r")
    return events(folder)


def decided(journal: list[dict[str, Any]], name: str, *without: str) -> dict[int, dict[str, Any]]:
    """What is on record of each generation, but for when, and how long it took."""
    left_out = {"seq", "t", "prompt", "attempts", *without}
    found = {}
    for event in journal:
        if event["event"] == name:
            found[event["generation"]] = {key: value for key, value in event.items() if key not in left_out}
            found[event["generation"]].get("evaluation", {}).pop("measured", None)
    return found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("racing")
    return folder / "raced", run(folder / "raced", racing=True), run(folder / "plain", racing=False)


def test_the_record_is_that_without_racing_but_for_those_that_were_stopped(
    both: tuple[Path, list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    _, raced, plain = both
    assert decided(raced, "asked") == decided(plain, "asked"), "each is made from the same, by the same"
    assert decided(raced, "refused") == decided(plain, "refused")
    found, expected = decided(raced, "evaluated"), decided(plain, "evaluated")
    assert found.keys() == expected.keys()
    stopped = {number for number, event in found.items() if event["evaluation"]["outcome"] == "stopped"}
    assert len(stopped) >= 3, "or this test says nothing"
    assert {number: found[number] for number in found.keys() - stopped} == {
        number: expected[number] for number in found.keys() - stopped
    }
    for number in stopped:
        evaluation, whole = found[number]["evaluation"], expected[number]["evaluation"]
        assert whole["outcome"] == "ok"
        assert whole["combined_score"] <= evaluation["combined_score"] < evaluation["threshold"]
        asked = [cost for cost in evaluation["costs"] if cost is not None]
        assert 0 < len(asked) < 8 and evaluation["failures"] == [] and not evaluation["correct"]
        assert all(cost in (None, other) for cost, other in zip(evaluation["costs"], whole["costs"], strict=True))


def test_what_was_stopped_is_no_parent_no_failure_and_never_the_best(
    both: tuple[Path, list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    folder, raced, _ = both
    with opened(folder) as archive:
        stopped = [record for record in archive.programs if record.stopped]
        parents = {commit for event in decided(raced, "asked").values() for commit in event["parents"]}
        assert not parents & {record.commit for record in stopped}
        assert {record.outcome for record in stopped} == {Outcome.STOPPED}
        assert {archive.fault(record.generation) for record in stopped} == {None}
        assert {record.value for record in stopped} == {record.gap for record in stopped} == {None}
        assert archive.best is not None and not archive.best.stopped
        failed = sum(not record.correct and not record.stopped for record in archive.programs)
        funnel = archive.funnel
        assert (funnel.stopped, funnel.scored) == (len(stopped), funnel.new - len(stopped))
        assert funnel.scored - funnel.correct == failed == 2
        assert [archive.seen(record.source_hash) for record in stopped] == stopped, "none is evaluated again"


def test_killed_in_the_middle_it_is_the_same_run(tmp_path: Path) -> None:
    run(tmp_path / "whole", racing=True)
    folder = tmp_path / "killed"
    process = in_fork(folder, "run", settings(folder, search={"racing": True}), "--name", "r")
    wait_until(lambda: count(folder, "evaluated") >= 9, process)
    kill(process)
    finish(folder, "resume", "r")
    with opened(tmp_path / "whole") as whole, opened(folder) as killed:
        assert killed.fingerprint() == whole.fingerprint()
        assert any(record.stopped for record in killed.programs)


def test_several_in_flight_each_has_the_threshold_of_its_beginning(tmp_path: Path) -> None:
    journal = run(tmp_path / "r", racing=True, parallel=4, workers=2)
    ended: list[float] = []
    for event in journal:
        if event["event"] != "evaluated":
            continue
        evaluation = event["evaluation"]
        if evaluation["outcome"] == "stopped":
            assert evaluation["threshold"] in ended, "it is the score of a program that had been recorded"
            assert sum(score > evaluation["combined_score"] for score in ended) >= 3, "three elites stand above it"
        elif evaluation["correct"]:
            ended.append(evaluation["combined_score"])
    assert count(tmp_path / "r", "evaluated", generation=0) == 1


def test_a_run_that_cannot_be_raced_says_why_and_does_not_begin(tmp_path: Path) -> None:
    config = configure(tmp_path, models=[script(tmp_path, [patch(1)])], search={"racing": True})
    said = evolve(tmp_path, "run", config, "--name", "r", code=2).stderr
    assert "search.racing is true, and evaluations of this run cannot be stopped: instance 0 of suite 'three'" in said
    config = settings(tmp_path, search={"racing": True, "islands": 2})
    said = evolve(tmp_path, "run", config, "--name", "r", code=2).stderr
    assert "an island that is begun anew has room for every program (search.islands)" in said
    own = settings(tmp_path, search={"racing": True, "strategy": "tests.data.plugins.my_search:Newest"})
    said = evolve(tmp_path, "run", own, "--name", "r", code=2).stderr
    assert "the strategy 'tests.data.plugins.my_search:Newest' has no method `threshold`" in said
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []
