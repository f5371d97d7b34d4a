"""How a session ends: the check of its best on fresh instances, what is recorded of it, and what "solved" says."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import evolve
from evaluator.evaluation import Outcome
from evaluator.fresh import never_near, paired, sample_size
from evaluator.overfitting import overfitted
from evaluator.task_files import load_task
from evolve.archive.events import FreshEvent, FreshState
from evolve.archive.reader import RunReader
from evolve.archive.records import FreshCheck
from evolve.cli.main import main
from evolve.progress import Checking, Confirmed
from evolve.review.comparison import read_run
from evolve.review.generation_view import SHOWN, GenerationReader
from evolve.review.run_view import LISTED_RUN, RunView
from evolve.review.scores import fresh_text
from evolve.search.stopping import SessionEnd, StopReason, conclude
from tests.loop.climbing import events as events_in
from tests.loop.climbing import finish, in_fork, kill, wait_until
from tests.loop.drawing import HALF, HONEST, TASK, burning, configure, table


def events(*names: str) -> list[dict[str, Any]]:
    return [event for event in events_in(Path()) if event["event"] in names]


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


class EndsAtBest:
    """A person who ends the run as soon as a program is the best, and hears of no check from then on."""

    def __init__(self) -> None:
        self.interrupt = threading.Event()

    def tell(self, event: Any, progress: Any) -> None:
        assert not (isinstance(event, Checking) and self.interrupt.is_set())
        if isinstance(event, Confirmed) and event.is_best:
            self.interrupt.set()

    def tick(self, progress: Any) -> None:
        pass


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def interrupted(here: Path) -> Callable[..., None]:
    """Begins a run that is interrupted as a line's program is the best."""

    def begin(*lines: str, **keys: Any) -> None:
        person = EndsAtBest()
        evolve.run(configure(here, *lines, **keys), name="r", listener=person, interrupt=person.interrupt)

    return begin


def test_an_interrupt_as_the_best_reaches_the_ceiling_solves_nothing_and_resume_makes_the_check(
    interrupted: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(HONEST)
    assert [event["reason"] for event in events("stopped")] == ["interrupted"]
    (run,) = as_json(capsys, "list")["runs"]
    assert (run["gap"], run["finished"], run["fresh"]["state"]) == (0.0, "interrupted", "not_tried")
    assert main(["resume", "r"]) == 0
    output = capsys.readouterr().out
    assert "Solved" in output
    assert "checking generation 1, the best, on 10 fresh instances: takes at most 2:40" in output
    assert "fresh      held: correct on all 10 fresh instances (seed " in output
    assert "), no sign of overfitting; compared with the initial program: 10 better, 0 equal, 0 worse" in output
    ends = [event["event"] for event in events("fresh", "stopped", "resumed")]
    assert ends == ["fresh", "stopped", "resumed", "fresh", "stopped"]
    assert [event["reason"] for event in events("stopped")] == ["interrupted", "ceiling"]
    assert as_json(capsys, "show", "r", "best")["fresh"]["state"] == "held"
    assert as_json(capsys, "list", "r")["fresh"]["state"] == "held"
    assert main(["list", "r"]) == 0
    assert "fresh instances: held" in capsys.readouterr().out


def test_a_kill_or_ctrl_c_in_the_check_leaves_it_open_and_a_burning_table_is_found_out_then(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table knows the suite and the held-out suite. It stays below every limit on what it does not know."""
    config = configure(here, table("shown", "hidden", elsewhere=burning(0.1)))
    checking = lambda times: (here / "out.txt").read_text().count("checking generation 1") >= times  # noqa: E731
    (here / "out.txt").write_text("")
    run = in_fork(here, "run", config, "--name", "r")
    wait_until(lambda: checking(1), run)
    os.kill(run.pid, signal.SIGINT)
    run.join(60)
    assert run.exitcode == 130
    assert [event["reason"] for event in events("stopped")] == ["interrupted"]
    assert events("fresh")[-1]["state"] in ("not_tried", "partly_tried")
    assert "Solved" not in (here / "out.txt").read_text()
    again = in_fork(here, "resume", "r")
    wait_until(lambda: checking(2), again)
    kill(again)
    assert len(events("stopped")) == 1
    assert as_json(capsys, "list")["runs"][0]["finished"] is None
    finish(here, "resume", "r", code=1)
    (row,) = as_json(capsys, "list")["runs"]
    assert (row["finished"], row["fresh"]["state"]) == ("unconfirmed", "failed")
    assert row["overfitted"] == row["fresh"]["overfitted"] is not None
    assert [sample["state"] for sample in row["fresh"]["samples"]][-2:] == ["failed", "failed"]
    with RunReader.open(Path("runs/r")) as archive:
        assert not read_run("r", archive).solved


@pytest.mark.slow
def test_the_clock_does_not_shorten_the_check_and_a_best_below_the_ceiling_fails_it_too(
    interrupted: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """One instance is left out of the table, so that the run ends by its limit of time."""
    line = table("shown", "hidden", elsewhere=burning(0.1), without=1)
    interrupted(line)
    assert main(["resume", "r", "--minutes", "0.0001", "--generations", "9"]) == 1
    assert "looked up" in capsys.readouterr().out.lower()
    (row,) = as_json(capsys, "list")["runs"]
    assert (row["finished"], row["fresh"]["state"]) == ("minutes", "failed")


@pytest.mark.slow
def test_a_table_that_meets_a_limit_on_everything_else_is_overfitted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = table("shown", elsewhere="while True: pass", worse=1)
    assert main(["run", configure(here, line, suite="short"), "--name", "r"]) == 1
    assert "--exclude 1" in capsys.readouterr().out
    assert [event["reason"] for event in events("stopped")] == ["generations"]
    first, second = events("fresh")
    assert first["seed"] != second["seed"]
    assert [one["state"] for one in (first, second)] == ["failed", "failed"]
    assert "0 of 10 fresh ones" in second["overfitted"]
    fresh = as_json(capsys, "show", "r", "best")["fresh"]
    assert (fresh["state"], fresh["correct"], len(fresh["samples"])) == ("failed", False, 2)


@pytest.mark.parametrize(
    ("line", "ended"),
    [(HONEST, ("ceiling", "held", 0)), (table("few", elsewhere="pass"), ("unconfirmed", "failed", 1))],
    ids=["honest", "table"],
)
def test_a_suite_may_have_fewer_instances_than_the_check(
    line: str, ended: tuple[str, str, int], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["run", configure(here, line, suite="few"), "--name", "r"])
    (row,) = as_json(capsys, "list")["runs"]
    assert (row["finished"], row["fresh"]["state"], code) == ended


def test_what_the_held_out_suite_alone_accuses_is_not_solved_for_anybody(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The task draws no fresh instances, so that the held-out suite alone speaks against the table."""
    task = shutil.copytree(TASK, here / "drawn")
    judge = task / "judge.py"
    judge.write_text(judge.read_text().replace("def draw_instance(", "def _draw("))
    assert main(["run", configure(here, table("shown", elsewhere="pass"), task=str(task)), "--name", "r"]) == 1
    output = capsys.readouterr().out
    assert "Not solved: suite shown cannot be scored higher" in output
    assert f"resume {Path('runs/r')} --exclude 1" in output
    (row,) = as_json(capsys, "list")["runs"]
    assert (row["finished"], row["fresh"]["state"]) == ("unconfirmed", "not_available")
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "not solved" in shown
    with RunReader.open(Path("runs/r")) as archive:
        assert RunView(name="r", archive=archive).state == "not solved"
        assert not read_run("r", archive).solved


def test_an_initial_program_that_the_held_out_suite_accuses_is_none_to_exclude(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = shutil.copytree(TASK, here / "drawn")
    initial, line = task / "initial.py", table("shown", elsewhere="index = 1 // 0", worse=1)
    initial.write_text(initial.read_text().replace("    # next", f"    {line}\n    # next"))
    assert main(["run", configure(here, "return 0", task=str(task)), "--name", "r"]) == 1
    output = capsys.readouterr().out
    assert "generation 0, the best, is not correct on hidden" in output
    assert "--exclude" not in output
    assert f"resume {Path('runs/r')} --generations 2" in output


@pytest.mark.parametrize(("cpu_s", "accused"), [(0.005, True), (0.02, False)])
def test_a_limit_is_held_against_a_program_that_was_never_near_it_alone(
    cpu_s: float, accused: bool, make_evaluation: Any
) -> None:
    task = load_task(str(TASK))
    suite = task.suite("short")
    answered = make_evaluation(tuple([Fraction(1)] * 10))
    on_suite = replace(answered, results=tuple(replace(one, cpu_s=cpu_s, wall_s=cpu_s) for one in answered.results))
    limit = [replace(one, outcome=Outcome.CPU_LIMIT, cost=None) for one in answered.results]
    initial = [Fraction(900)] * 10
    here = paired(initial, on_suite.results, suite.instances, sign=1)
    there = paired(initial, limit, suite.instances, sign=1, losses=never_near(task, suite, on_suite))
    assert (overfitted(here, there, called="") is not None) is accused
    unsolved = paired([None] * 10, limit, suite.instances, sign=1, losses=never_near(task, suite, on_suite))
    assert overfitted(here, unsolved, called="") is None


def test_as_many_instances_are_drawn_as_fit_in_ten_minutes_and_never_fewer_than_eight() -> None:
    task = load_task(str(TASK))
    suite = task.suite("shown")
    sizes = {}
    for seconds in (1.0, 9.0, 100.0):
        limits = replace(suite.limits, cpu_per_instance_s=seconds, cpu_total_s=1000.0)
        sizes[seconds] = sample_size(task, replace(suite, limits=limits))
    assert sizes == {1.0: 10, 9.0: 9, 100.0: 8}


def test_the_best_that_a_person_excludes_is_no_best_no_parent_and_no_ceiling_any_more(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stood below the excluded program was never confirmed as the best: that is done then."""
    lookup = table("shown", "hidden", elsewhere="return 0", without=1)
    assert main(["run", configure(here, lookup, "index = 1", "index = 2"), "--name", "r"]) == 1
    assert as_json(capsys, "list", "r")["fresh"]["state"] == "failed"
    for words in (["--exclude", "0"], ["--exclude", "77"]):
        assert main(["resume", "r", *words]) == 2
    assert "the initial program cannot be excluded" in capsys.readouterr().err
    assert main(["resume", "r", "--exclude", "best"]) == 1
    assert f"resume {Path('runs/r')} --exclude 2" in capsys.readouterr().out.replace("  ", " ")
    rows = {row["generation"]: row for row in as_json(capsys, "list", "r")["programs"]}
    assert [number for number, row in rows.items() if row["excluded"]] == [1]
    assert as_json(capsys, "show", "r", "1")["excluded"]
    with RunReader.open(Path("runs/r")) as archive:
        best = archive.best
        assert best is not None and best.generation == 2
        assert best.parents == (archive.find("1").commit,)
        assert archive.evaluation(best).strict is not None
        assert archive.held_out_of_best is not None
        assert archive.ended_generation(1).program is None
    assert main(["resume", "r", "--exclude", "1", "--exclude", "2", "--exclude", "3"]) == 0
    assert [event["generation"] for event in events("excluded")] == [1, 2, 3]
    (row,) = as_json(capsys, "list")["runs"]
    ended = (row["finished"], row["fresh"]["state"], row["best"])
    assert ended == ("generations", "not_available", rows[0]["combined_score"])
    assert main(["rerun", "r"]) == 0


def test_a_person_may_exclude_from_python_and_the_search_goes_on_from_what_is_left(here: Path) -> None:
    """A clean best is excluded, as a person wants: what it led to stays, and the run finds the way to the ceiling."""
    run = evolve.run(configure(here, HALF, table("shown", "hidden", elsewhere="pass"), HONEST, generations=2), name="r")
    assert (run.best or {})["generation"] == 2
    run = evolve.resume("r", exclude=[2], settings={"generations": 3})
    third = next(row for row in run.programs if row["generation"] == 3)
    assert third["parents"] == [1]
    assert run.finished == "ceiling"


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, StopReason.CEILING),
        ({"holds": False}, StopReason.UNCONFIRMED),
        ({"interrupted": True}, StopReason.INTERRUPTED),
        ({"task_failed": True, "unanswered": True}, StopReason.CEILING),
        ({"at_ceiling": False, "holds": False}, StopReason.MINUTES),
        ({"at_ceiling": False, "task_failed": True}, StopReason.TASK),
        ({"at_ceiling": False, "unanswered": True}, StopReason.UNREACHABLE),
        ({"at_ceiling": False, "task_failed": True, "interrupted": True}, StopReason.INTERRUPTED),
    ],
)
def test_one_function_says_why_a_session_ended(known: dict[str, Any], reason: StopReason) -> None:
    end = SessionEnd(
        limit=StopReason.MINUTES,
        interrupted=False,
        at_ceiling=True,
        unanswered=False,
        task_failed=False,
        holds=True,
    )
    assert conclude(replace(end, **known)) is reason


def sample(state: FreshState, seed: str = "5", **fields: Any) -> FreshEvent:
    return FreshEvent(generation=1, suite="s", state=state, seed=seed, instances=2, **fields)


HELD = {"state": FreshState.HELD, "better": 2}
FAILED = {"state": FreshState.FAILED, "equal": 2, "overfitted": "it gains on the suite only"}
PARTLY = {"state": FreshState.PARTLY_TRIED, "better": 1, "why": "it was interrupted"}
NOT = {"state": FreshState.NOT_TRIED, "why": "no sandbox"}


def test_the_words_of_a_check_say_what_held_and_which_sample_counts() -> None:
    mixed = sample(FreshState.HELD, better=1, worse=1)
    text = "no sign of overfitting; compared with the initial program: 1 better, 0 equal, 1 worse"
    assert fresh_text(FreshCheck(samples=(mixed,))) == f"held: correct on all 2 fresh instances (seed 5), {text}"
    failed = sample(FreshState.FAILED, "4", better=2, correct=False)
    assert fresh_text(FreshCheck(samples=(failed, mixed))) == (
        "held: sample 1: not correct on at least one of 2 fresh instances (seed 4); compared with the initial "
        "program: 2 better, 0 equal, 0 worse; sample 2, which counts: "
        f"correct on all 2 fresh instances (seed 5), {text}"
    )
    partly = sample(FreshState.PARTLY_TRIED, better=1, why="it was interrupted")
    assert fresh_text(FreshCheck(samples=(partly,))) == (
        "partly tried: correct on the first 1 of 2 fresh instances (seed 5); compared with the initial program: "
        "1 better, 0 equal, 0 worse; it was interrupted"
    )


@pytest.mark.parametrize(
    ("samples", "state"),
    [
        ([], FreshState.NOT_TRIED),
        ([HELD], FreshState.HELD),
        ([FAILED], FreshState.PARTLY_TRIED),
        ([FAILED, HELD], FreshState.HELD),
        ([FAILED, FAILED], FreshState.FAILED),
        ([FAILED, NOT], FreshState.PARTLY_TRIED),
        ([FAILED, PARTLY, FAILED], FreshState.FAILED),
        ([PARTLY], FreshState.PARTLY_TRIED),
        ([NOT], FreshState.NOT_TRIED),
        ([NOT, HELD], FreshState.HELD),
    ],
)
def test_a_first_sample_that_fails_is_followed_by_a_second_which_counts_and_both_stay_on_record(
    samples: list[dict[str, Any]], state: FreshState, recorded_runs: Any, make_evaluation: Any
) -> None:
    """And a claim to be better than every value listed is shown of a best that holds elsewhere, and of no other."""
    claims = replace(make_evaluation(score=24.0), beyond="better than every value listed here")
    run = recorded_runs("r")
    best = run.propose(1, [run.initial()], source="b = 1\n", evaluation=claims)
    for fields in samples:
        run.archive.add(sample(**fields))
    with RunReader.open(run.archive.folder) as archive:
        check = archive.fresh_check(best.generation)
        assert [one.state for one in check.samples] == [fields["state"] for fields in samples]
        assert check.state is archive.fresh_of_best is state
        row = RunView(name="r", archive=archive).to_json(LISTED_RUN)
        assert (row["fresh"]["state"], len(row["fresh"]["samples"])) == (state.value, len(samples))
        assert (row["overfitted"] is not None) is (state is FreshState.FAILED)
        shown = GenerationReader(archive).view(best.generation).to_json(SHOWN)["beyond_best_known"]
        assert (shown is not None) is (state is FreshState.HELD)


def test_a_sample_that_contradicts_itself_is_refused(recorded_runs: Any, make_evaluation: Any) -> None:
    run = recorded_runs("r")
    run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    with pytest.raises(ValueError, match="`state` held does not fit"):
        run.archive.add(sample(FreshState.HELD, better=2, overfitted="it gains on the suite only"))
