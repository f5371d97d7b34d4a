"""Runs on a cluster: the run of one machine, whatever dies; and no worker's word makes a confirmed best."""

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task
from evolve.archive.events import Status, WorkerChange
from evolve.cluster.frames import short_name
from evolve.cluster.local import LocalCluster
from evolve.core.clusters import ClusterAddress
from evolve.evaluation.elsewhere import is_drawn
from evolve.evaluation.evaluators import open_evaluators
from evolve.view.payload import run_document
from tests.loop.climbing import TASK, configure, count, events, evolve, in_fork, kill, opened, patch, script, wait_until
from tests.loop.clusters import address, fingerprint, hosted, true_score, wait_for_workers

HOSTILE = Path(__file__).parent.parent / "cluster" / "hostile_worker.py"
STEPS = (5, 3, 8, 2, 7, 1)
SLOW = "OFFSET += 1; sum(i * i for i in range(12_000_000))"  # worse, so that nothing confirms it
MARK, WORSE = "OFFSET -= 31", "OFFSET += 2"
TRUE_ANSWERS, OF_OTHERS = "1,20,300", "300,1,20"

pytestmark = pytest.mark.slow


def configured(folder: Path, steps: tuple[float | str, ...] = STEPS, **keys: Any) -> str:
    folder.mkdir(exist_ok=True)
    answers = [patch(step, name=f"step_{number}") for number, step in enumerate(steps, 1)]
    return configure(folder, models=[script(folder, answers)], generations=len(steps), **keys)


Whole = Callable[[tuple[float | str, ...]], str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The fingerprint of the run of some steps on this machine, each made once."""

    @cache
    def made(steps: tuple[float | str, ...]) -> str:
        folder = tmp_path_factory.mktemp("whole")
        evolve(folder, "run", configured(folder, steps), "--name", "r", code=None)
        return fingerprint(folder)

    return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(2) as cluster:
        yield cluster


# -- the run of one machine --------------------------------------------------------------------------------------------


def test_the_archive_is_that_of_the_run_on_one_machine_and_names_its_workers(tmp_path: Path, whole: Whole) -> None:
    config = configured(tmp_path / "there")
    ran = evolve(tmp_path / "there", "run", config, "--name", "r", "--workers", "dask:local:2")
    assert "on the cluster dask:local:2" in ran.stdout
    assert "worker local-" in ran.stdout
    assert fingerprint(tmp_path / "there") == whole(STEPS)
    journal = events(tmp_path / "there")
    places = [event["on"]["worker"] for event in journal if event["event"] == "evaluated" and "on" in event]
    assert set(places) <= {"local-1", "local-2"}
    assert len(places) == len(STEPS)  # the initial program is judged at home
    with opened(tmp_path / "there") as archive:
        assert {event.change for event in archive.workers.values()} == {WorkerChange.JOINED}
    evolve(tmp_path / "there", "rerun", "r")
    evolve(tmp_path / "there", "replay", "r")


def test_what_is_a_workers_word_is_shown_with_its_host(tmp_path: Path) -> None:
    evolve(tmp_path, "run", configured(tmp_path, (WORSE, 3)), "--name", "r", "--workers", "dask:local:1")
    shown = evolve(tmp_path, "show", "r", "1").stdout
    host = platform.node()
    assert f"ms CPU per call (on host {host})" in shown
    assert f"host {host}, worker local-1: its answers were judged here" in shown
    assert "on host" not in evolve(tmp_path, "show", "r", "2").stdout, "confirmed at home"
    listed = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    places = {program["generation"]: program["on"] for program in listed["programs"]}
    assert places == {0: None, 1: {"host": host, "worker": "local-1"}, 2: None}
    with opened(tmp_path) as archive:
        page = run_document("r", archive)
    (worker,) = page["workers"]
    assert (worker["worker"], worker["host"], worker["change"], worker["done"]) == ("local-1", host, "joined", 2)
    assert page["gens"]["host"] == [None, host, None]


def test_offline_the_archive_is_that_of_the_run_on_one_machine(tmp_path: Path) -> None:
    words = ("run", "--task", "placement", "--generations", "2", "--parallel", "1", "--name", "r", "--seed", "3")
    prints = []
    for name, workers in (("here", "2"), ("there", "dask:local:2")):
        (tmp_path / name).mkdir()
        evolve(tmp_path / name, *words, "--workers", workers)
        prints.append(fingerprint(tmp_path / name))
    assert prints[0] == prints[1]


def test_without_dask_one_sentence_names_the_extra(tmp_path: Path) -> None:
    config = configured(tmp_path)
    without = (
        "import importlib.util, sys; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'distributed' else find(name, *more)\n"
        "from evolve.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    for workers, code in (("dask:local:2", 3), ("1", 0)):
        command = [sys.executable, "-c", without, "run", config, "--workers", workers, "--name", "r"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == code, ran.stderr
        assert ("pip install 'evolve[cluster]'" in ran.stderr) is (code == 3)
        assert (tmp_path / "runs" / "r").exists() is (code == 0)


@pytest.mark.nightly  # a minute of patience
def test_an_address_where_nobody_is_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    ran = evolve(tmp_path, "run", configured(tmp_path), "--workers", "dask://127.0.0.1:9", "--name", "r", code=3)
    assert "127.0.0.1:9" in ran.stderr
    assert not (tmp_path / "runs").exists()


# -- faults ------------------------------------------------------------------------------------------------------------


def while_evaluating(folder: Path, process: Any, generation: int) -> None:
    """Wait until the program of a generation is being evaluated."""
    wait_until(lambda: count(folder, "answered", generation=generation) > 0, process)
    wait_until(lambda: count(folder, "worker", change="joined") > 0, process)
    time.sleep(0.3)


@pytest.mark.parametrize("victim", ["workers", "scheduler"])
def test_a_program_whose_worker_is_lost_is_evaluated_again(
    tmp_path: Path, cluster: LocalCluster, whole: Whole, victim: str
) -> None:
    steps = (SLOW, 3, 4)
    config = configured(tmp_path / "there", steps)
    process = in_fork(tmp_path / "there", "run", config, "--name", "r", "--workers", address(cluster))
    while_evaluating(tmp_path / "there", process, 1)
    for number in hosted(cluster) if victim == "workers" else cluster.processes()[:1]:
        os.kill(number, signal.SIGKILL)
    process.join(120)
    assert process.exitcode == 0, (tmp_path / "there" / "out.txt").read_text()
    assert count(tmp_path / "there", "worker", change="lost") >= 1
    assert count(tmp_path / "there", "machine_lost") == 0
    assert fingerprint(tmp_path / "there") == whole(steps)


def test_a_killed_head_loses_nothing(tmp_path: Path, whole: Whole) -> None:
    config = configured(tmp_path / "there")
    process = in_fork(tmp_path / "there", "run", config, "--name", "r", "--workers", "dask:local:2")
    wait_until(lambda: count(tmp_path / "there", "evaluated") >= 3, process)
    kill(process)
    evolve(tmp_path / "there", "resume", "r")
    assert fingerprint(tmp_path / "there") == whole(STEPS)
    assert count(tmp_path / "there", "answered") == len(STEPS)


Start = Callable[..., Any]


def hostile(started: Start, cluster: LocalCluster, name: str, kind: str, argument: str) -> Any:
    return started([sys.executable, str(HOSTILE), cluster.address, name, kind, argument])


def with_hostile(
    folder: Path, started: Start, kind: str, argument: str, *, steps: tuple[float | str, ...], code: int
) -> str:
    """A run whose three workers are hostile; its output."""
    with LocalCluster(0) as alone:
        for number in (1, 2, 3):
            hostile(started, alone, f"odd-{number}", kind, argument)
        wait_for_workers(alone.address, 3)
        config = configured(folder, steps, attempts=1)
        return evolve(folder, "run", config, "--name", "r", "--workers", address(alone), code=code).stdout


def test_a_program_that_takes_three_workers_down_has_crashed(tmp_path: Path, started: Start) -> None:
    with_hostile(tmp_path, started, "dead of", MARK, steps=(MARK,), code=1)
    with opened(tmp_path) as archive:
        (program,) = archive.programs[1:]
        assert program.outcome == "crash"
        assert "takes its worker down" in archive.evaluation(program).detail
    assert count(tmp_path, "worker", change="lost") >= 1


def test_a_program_whose_workers_end_the_broker_has_not_crashed(tmp_path: Path, started: Start) -> None:
    with_hostile(tmp_path, started, "deadly of", MARK, steps=(MARK,), code=3)
    with opened(tmp_path) as archive:
        assert archive.statuses[1] is Status.MACHINE_LOST
        assert len(archive.programs) == 1


def test_where_the_initial_program_is_lost_too_the_generation_stays_open(
    tmp_path: Path, started: Start, whole: Whole
) -> None:
    there = tmp_path / "there"
    with_hostile(there, started, "dead", "", steps=(MARK,), code=3)
    with opened(there) as archive:
        assert archive.statuses[1] is Status.MACHINE_LOST
        assert archive.finished == "machine"
    assert "left to `resume`" in evolve(there, "list", "r").stdout
    assert "its workers were lost" in evolve(there, "show", "r", "1").stdout
    evolve(there, "resume", "r", "--workers", "1")
    assert count(there, "answered") == count(there, "asked") == 1
    assert fingerprint(there) == whole((MARK,))


# -- workers that are not honest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("parallel", "given"), [(1, "a-liar"), (4, 200 * "\x1b[31m\n\u202e")])
def test_a_better_programs_answers_make_no_best_and_their_worker_is_named(
    tmp_path: Path, started: Start, parallel: int, given: str
) -> None:
    name = short_name(given)
    with LocalCluster(1) as cluster:
        hostile(started, cluster, given, "better", TRUE_ANSWERS)
        config = configured(tmp_path, 5 * STEPS, parallel=parallel)  # as many as the second worker needs to come
        ran = evolve(tmp_path, "run", config, "--name", "r", "--workers", address(cluster))
    assert f"worker {name} on host" in ran.stdout
    assert "is expelled: it reported cost 4 on instance 0, and at home it is" in ran.stdout
    with opened(tmp_path) as archive:
        assert archive.workers[name].change is WorkerChange.EXPELLED
        assert archive.unconfirmed_of(name) == []
        assert list(archive.to_rescore) == []
        for program in archive.programs:
            assert program.combined_score == pytest.approx(true_score(archive.files(program).only))
        assert archive.best is not None
        assert archive.best.combined_score == max(program.combined_score for program in archive.programs)
    evolve(tmp_path, "rerun", "r")


def test_of_the_others_some_are_checked(tmp_path: Path, started: Start) -> None:
    task = load_task(str(TASK))
    program = task.initial_files()
    drawn = next(number for number in counting() if is_drawn(0, number))
    spared = next(number for number in counting() if not is_drawn(0, number))
    with LocalCluster(0) as cluster:
        hostile(started, cluster, "liar", "better", OF_OTHERS)
        there = ClusterAddress(scheduler=cluster.address)
        with open_evaluators(task, None, workers=1, control=program, cluster=there) as pair:
            believed = pair.evaluate(program, generation=spared)
            assert believed.refutes is None
            assert believed.evaluation.on is not None
            assert believed.evaluation.combined_score < true_score(program.only)
            found = pair.evaluate(program, generation=drawn)
            assert found.refutes is not None
            assert found.refutes.worker == "liar"
            assert found.evaluation.on is None
            assert found.evaluation.combined_score == pytest.approx(true_score(program.only))
            assert [worker.state for worker in pair.workers()] == ["expelled"]


def test_about_two_of_a_hundred_are_drawn() -> None:
    assert 150 < sum(is_drawn(7, number) for number in range(10_000)) < 250
