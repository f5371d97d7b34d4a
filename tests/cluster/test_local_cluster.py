"""Evaluations on real workers: the scores of the head, whatever dies, and nothing of the head in others' reach."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import EvaluationCancelled, HarnessError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.remote import RemoteEvaluator, WorkerActivity, WorkerLost
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.cluster.local import LocalCluster
from evolve.cluster.remote import ClusterRemote, OpenScheduler, Patience, open_remote
from evolve.core.clusters import ClusterAddress
from tests.builders import one_file
from tests.evaluator.process_table import descendants, gone
from tests.loop.clusters import wait_for_workers
from tests.script_folders import GOOD, make_task, says

SECRET = "sk-cluster-5d1e77"
SMALLEST = Path(__file__).parent.parent / "data" / "smallest"
ONLINE = Path(__file__).parent.parent / "data" / "online"
HONEST = "def smallest(items):\n    return items.index(min(items))\n"
WORST = "def smallest(items):\n    return items.index(max(items))\n"
SLOW = (
    "import time\n"
    "def smallest(items):\n"
    "    end = time.process_time() + 1\n"
    "    while time.process_time() < end:\n"
    "        pass\n"
    "    return items.index(min(items))\n"
)
FIRST_FIT = (
    "def choose_bin(size, room, capacity):\n"
    "    return next((index for index, left in enumerate(room) if left >= size), len(room))\n"
)
PATIENCE = Patience(silence_s=5, evaluation_s=60, opening_s=60, none_s=30)
HOSTILE = Path(__file__).parent / "hostile_worker.py"


@contextmanager
def serving(
    task: Task, address: ClusterAddress, patience: Patience = PATIENCE
) -> Iterator[tuple[RemoteEvaluator, OpenedEvaluator, ClusterRemote]]:
    suite, control = task.suite(), task.initial_files()
    with (
        open_evaluator(task, suite, workers=1) as home,
        open_remote(address, task, suite, control=control, level=home.sandbox, patience=patience) as remote,
    ):
        yield RemoteEvaluator(home, remote), home, remote


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    before = os.environ.get("OPENAI_API_KEY")
    os.environ["OPENAI_API_KEY"] = SECRET
    with LocalCluster(2) as cluster:
        yield cluster
    if before is None:
        del os.environ["OPENAI_API_KEY"]
    else:
        os.environ["OPENAI_API_KEY"] = before


@pytest.fixture(scope="module")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The task `smallest`, with room for a slow program."""
    folder = tmp_path_factory.mktemp("tasks") / "smallest"
    shutil.copytree(SMALLEST, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "task.yaml"
    text = path.read_text().replace(
        "cpu_per_instance_s: 0.4, cpu_total_s: 1.0", "cpu_per_instance_s: 5, cpu_total_s: 20"
    )
    path.write_text(text)
    return load_task(str(folder))


@pytest.fixture
def address(cluster: LocalCluster) -> ClusterAddress:
    return ClusterAddress(scheduler=cluster.address)


def children(process: int) -> list[int]:
    text = "".join(path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return [int(word) for word in text.split()]


def until(condition: Callable[[], Any], within_s: float = 40) -> Any:
    deadline = time.monotonic() + within_s
    while not (result := condition()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)
    return result


def states(remote: ClusterRemote) -> dict[str, WorkerActivity]:
    return {worker.name: worker.state for worker in remote.workers()}


def all_idle(remote: ClusterRemote, count: int = 2) -> bool:
    return [*states(remote).values()].count(WorkerActivity.IDLE) == count


def without_times(evaluation: Evaluation) -> Evaluation:
    results = tuple(replace(result, cpu_s=0.0, wall_s=0.0) for result in evaluation.results)
    return replace(evaluation, results=results, runtime_s=0.0, peak_memory_mb=0.0)


def test_workers_give_the_evaluation_of_the_head_and_see_no_key(
    smallest: Task, cluster: LocalCluster, address: ClusterAddress
) -> None:
    with serving(smallest, address) as (evaluator, home, remote):
        for source in (HONEST, WORST, "", "def smallest(items):\n    return 1 / 0\n"):
            there = evaluator.evaluate(one_file(source))
            assert there.on is not None
            assert without_times(there) == without_times(home.evaluate(one_file(source)))
        assert sum(worker.done for worker in remote.workers()) == 4
        until(lambda: all_idle(remote))
        assert {worker.level for worker in remote.workers()} == {home.sandbox}
        processes = [remote.broker_process_id, *cluster.processes()]
        processes += [child for process in cluster.processes() for child in children(process)]
        assert len(processes) == 6
        for process in processes:
            assert SECRET.encode() not in Path(f"/proc/{process}/environ").read_bytes()


@pytest.mark.slow
def test_an_examined_program_is_evaluated_at_home(smallest: Task, address: ClusterAddress) -> None:
    with serving(smallest, address) as (evaluator, home, _):
        examined = evaluator.examine(one_file(HONEST), evaluator.evaluate(one_file(HONEST)))
        assert examined.on is None
        assert without_times(examined) == without_times(home.examine(one_file(HONEST), home.evaluate(one_file(HONEST))))


@pytest.mark.slow
def test_a_conversation_and_a_script_are_judged_at_home(tmp_path: Path, address: ClusterAddress) -> None:
    script = make_task(tmp_path / "script")
    for task, sources in ((load_task(str(ONLINE)), [FIRST_FIT]), (script, [GOOD, says(correct=False), "1 / 0\n"])):
        with serving(task, address) as (evaluator, home, _):
            for source in sources:
                there = evaluator.evaluate(one_file(source))
                assert there.on is not None
                assert there.self_judged is task.self_judged
                assert without_times(there) == without_times(home.evaluate(one_file(source)))


@pytest.mark.slow
def test_programs_of_placement_have_the_scores_of_the_head(address: ClusterAddress) -> None:
    task = load_task("placement")
    sources = [one_file(path.read_text(encoding="utf-8")) for path in sorted(task.initial.parent.glob("*.py"))[:6]]
    with serving(task, address) as (evaluator, home, _), ThreadPoolExecutor(4) as threads:
        for there, source in zip(threads.map(evaluator.evaluate, sources), sources, strict=True):
            assert without_times(there) == without_times(home.evaluate(source))


# -- faults ------------------------------------------------------------------------------------------------------------


@contextmanager
def at_work(evaluator: RemoteEvaluator, remote: ClusterRemote) -> Iterator["Begun"]:
    """Two workers, one of which is at work on a slow program."""
    until(lambda: all_idle(remote))
    started = Started(evaluator)
    until(lambda: WorkerActivity.BUSY in states(remote).values())
    time.sleep(0.5)
    yield remote, started


@pytest.fixture
def begun(smallest: Task, address: ClusterAddress) -> Iterator["Begun"]:
    with serving(smallest, address) as (evaluator, _, remote), at_work(evaluator, remote) as begun:
        yield begun


@pytest.fixture(scope="module")
def lasting(smallest: Task, cluster: LocalCluster) -> Iterator[tuple[RemoteEvaluator, ClusterRemote]]:
    """One side of a head for all tests after which its workers are there again."""
    with serving(smallest, ClusterAddress(scheduler=cluster.address)) as (evaluator, _, remote):
        yield evaluator, remote


@pytest.fixture
def begun_again(lasting: tuple[RemoteEvaluator, ClusterRemote]) -> Iterator["Begun"]:
    with at_work(*lasting) as begun:
        yield begun


class Started:
    """An evaluation in a thread, which has a result or an error."""

    def __init__(self, evaluator: RemoteEvaluator, source: str = SLOW) -> None:
        self.result: Evaluation | BaseException | None = None
        self._evaluator, self._source = evaluator, source
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._evaluator.evaluate(one_file(self._source))
        except (WorkerLost, EvaluationCancelled) as error:
            self.result = error

    def end(self) -> Evaluation | BaseException:
        self._thread.join(60)
        assert self.result is not None
        return self.result


def busy_worker(remote: ClusterRemote) -> str:
    (name,) = [name for name, state in states(remote).items() if state is WorkerActivity.BUSY]
    return name


def serving_process(cluster: LocalCluster, name: str) -> int:
    (child,) = children(cluster.processes()[int(name.rpartition("-")[2])])
    return child


Begun = tuple[ClusterRemote, Started]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_dies_or_hangs_is_lost_and_comes_again(
    begun_again: Begun, cluster: LocalCluster, number: signal.Signals
) -> None:
    remote, started = begun_again
    name = busy_worker(remote)
    process = serving_process(cluster, name)
    candidates = descendants(process)
    assert candidates
    os.kill(process, number)
    error = started.end()
    assert isinstance(error, WorkerLost)
    assert error.worker == name
    assert ("silent" in error.why) is (number is signal.SIGSTOP)
    if number is signal.SIGSTOP:
        os.kill(process, signal.SIGCONT)
    else:
        assert gone(candidates)
    until(lambda: all_idle(remote))


@pytest.mark.slow
def test_a_scheduler_that_dies_loses_the_evaluation_and_comes_again(begun_again: Begun, cluster: LocalCluster) -> None:
    remote, started = begun_again
    os.kill(cluster.processes()[0], signal.SIGKILL)
    assert isinstance(started.end(), WorkerLost)
    until(lambda: WorkerActivity.LOST in states(remote).values())
    until(lambda: all_idle(remote))


@pytest.mark.slow
def test_a_broker_that_dies_loses_the_evaluation_and_is_started_again(begun_again: Begun) -> None:
    remote, started = begun_again
    os.kill(remote.broker_process_id, signal.SIGKILL)
    assert isinstance(started.end(), WorkerLost)
    until(lambda: all_idle(remote))


@pytest.mark.slow
def test_a_broker_that_reads_nothing_holds_nobody(begun: Begun, smallest: Task) -> None:
    remote, started = begun
    os.kill(remote.broker_process_id, signal.SIGSTOP)
    with open_evaluator(smallest, smallest.suite(), workers=1) as home:
        waiting = Started(RemoteEvaluator(home, remote), HONEST + "#" * 500_000)  # more than a pipe takes
        time.sleep(1)
        remote.cancel()
        assert isinstance(waiting.end(), EvaluationCancelled)
    assert isinstance(started.end(), EvaluationCancelled)


@pytest.mark.slow
def test_cancelling_ends_an_evaluation_at_once(begun: Begun) -> None:
    remote, started = begun
    remote.cancel()
    assert isinstance(started.end(), EvaluationCancelled)


@pytest.mark.slow
def test_a_worker_may_be_avoided_or_asked_for(smallest: Task, address: ClusterAddress) -> None:
    with serving(smallest, address) as (evaluator, _, remote):
        until(lambda: all_idle(remote))
        for name, other in (("local-1", "local-2"), ("local-2", "local-1")):
            for evaluation in (
                evaluator.evaluate(one_file(HONEST), only=name),
                evaluator.evaluate(one_file(HONEST), avoid=frozenset({other})),
            ):
                assert evaluation.on is not None
                assert evaluation.on.worker == name
        remote.expel("local-1", "it was wrong")
        expelled = evaluator.evaluate(one_file(HONEST), avoid=frozenset({"local-2"})).on
        assert expelled is not None
        assert expelled.worker == "local-2", "the only one that is left"
        assert [worker.why for worker in remote.workers()] == ["it was wrong", ""]


@pytest.mark.slow
def test_a_worker_that_differs_is_refused_with_the_difference(smallest: Task, address: ClusterAddress) -> None:
    short = replace(PATIENCE, none_s=4)
    suite, control = smallest.suite(), one_file(HONEST)
    with open_remote(address, smallest, suite, control=control, level="strong", patience=short) as remote:
        remote.wait_for_worker()
    other = replace(suite, digest="0" * 64)
    with (
        open_remote(address, smallest, other, control=control, level="standard", patience=short) as remote,
        pytest.raises(HarnessError, match=r"local-1 on .*: refused, the evaluator of this task differs"),
    ):
        remote.run(one_file(HONEST))


@pytest.mark.slow
def test_an_address_without_a_scheduler_is_named(smallest: Task) -> None:
    short = replace(PATIENCE, none_s=1)
    nobody = ClusterAddress(scheduler="tcp://127.0.0.1:9")
    with (
        serving(smallest, nobody, short) as (evaluator, _, _remote),
        pytest.raises(HarnessError, match=r"127\.0\.0\.1:9"),
    ):
        evaluator.evaluate(one_file(HONEST))


@pytest.mark.slow
def test_a_scheduler_that_others_reach_without_tls_is_warned_of(smallest: Task) -> None:
    suite, address = smallest.suite(), ClusterAddress(scheduler="tcp://192.0.2.1:8786")
    with (
        pytest.warns(OpenScheduler, match="without TLS"),
        open_remote(address, smallest, suite, control=one_file(HONEST), level="standard"),
    ):
        pass


@pytest.mark.slow
def test_nothing_is_left_when_the_head_is_killed(started: Callable[..., Any], smallest: Task, tmp_path: Path) -> None:
    script = (
        "import time\n"
        "from evolve.cluster.local import LocalCluster\n"
        "with LocalCluster(1) as cluster:\n"
        "    print(cluster.address, *cluster.processes(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    head = started([sys.executable, "-c", script], stdout=-1)
    scheduler, *words = head.stdout.readline().decode().split()
    processes = [int(word) for word in words]
    wait_for_workers(scheduler, 1)
    processes += [child for process in processes for child in children(process)]
    assert len(processes) == 3
    head.kill()
    until(lambda: not any(Path(f"/proc/{process}").exists() for process in processes), 10)


# -- workers that are not honest ---------------------------------------------------------------------------------------


LIARS = {
    "number": "an object of type int",
    "gigabyte": "bytes",
    "nonsense": "another shape",
    "endless": "more instances",
}
"""Workers by what they reply, and what is odd about it."""


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalCluster]:
    """A scheduler to which every test brings workers of its own."""
    with LocalCluster(0) as alone:
        yield alone


@contextmanager
def hostile(
    started: Callable[..., Any], alone: LocalCluster, task: Task, kinds: Mapping[str, str], broker_s: float = 60
) -> Iterator[ClusterRemote]:
    """A cluster whose only workers are not honest. They are called like what they reply; each has an argument."""
    patience = replace(PATIENCE, silence_s=30, none_s=15, broker_s=broker_s)
    for kind, argument in kinds.items():
        started([sys.executable, str(HOSTILE), alone.address, kind, kind, argument])
    with serving(task, ClusterAddress(scheduler=alone.address), patience) as (_, _, remote):
        until(lambda: all_idle(remote, len(kinds)))
        yield remote


@pytest.mark.slow
def test_an_odd_reply_is_its_workers_fault_and_no_others(
    started: Callable[..., Any], alone: LocalCluster, smallest: Task
) -> None:
    with (
        hostile(started, alone, smallest, dict.fromkeys(LIARS, "")) as remote,
        open_evaluator(smallest, smallest.suite(), workers=1) as home,
    ):
        for number, (kind, why) in enumerate(LIARS.items()):
            assert [states(remote)[other] for other in LIARS][number:] == [WorkerActivity.IDLE] * (len(LIARS) - number)
            with pytest.raises(WorkerLost, match=f"worker {kind} on") as caught:
                RemoteEvaluator(home, remote).evaluate(one_file(HONEST), only=kind)
            assert why in caught.value.why
            assert states(remote)[kind] is WorkerActivity.EXPELLED


@pytest.mark.nightly
def test_a_reply_that_is_larger_than_it_seems_reaches_no_head(
    started: Callable[..., Any], alone: LocalCluster, smallest: Task
) -> None:
    with hostile(started, alone, smallest, {"hidden gigabyte": ""}) as remote:
        with pytest.raises(WorkerLost, match="worker hidden gigabyte on"):
            remote.run(one_file(HONEST))
        assert states(remote)["hidden gigabyte"] in (WorkerActivity.EXPELLED, WorkerActivity.LOST)


@pytest.mark.slow
def test_a_pickle_that_runs_code_changes_nothing_of_the_head(
    started: Callable[..., Any], alone: LocalCluster, smallest: Task, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    there = tmp_path / "written.there"
    there.write_text("as it was")
    before = there.stat()
    with hostile(started, alone, smallest, {"pickle": f"{target},{os.getpid()}"}) as remote:
        with pytest.raises(WorkerLost, match=r"worker pickle on .*: its reply is an object of type NoneType"):
            remote.run(one_file(HONEST))  # its code ran to the end
        assert states(remote)["pickle"] is WorkerActivity.EXPELLED
    assert there.read_text() == "as it was"
    after = there.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert os.listxattr(there) == []
    assert not target.exists()


@pytest.mark.slow
def test_a_pickle_that_holds_the_broker_holds_no_other_worker(
    started: Callable[..., Any], alone: LocalCluster, smallest: Task
) -> None:
    with hostile(started, alone, smallest, {"sleeping": ""}, 5) as remote:
        with pytest.raises(WorkerLost, match="the broker was silent for 5 s"):
            remote.run(one_file(HONEST))
        until(lambda: all_idle(remote, 1))


@pytest.mark.slow
def test_a_better_programs_answers_do_not_survive_at_home(
    started: Callable[..., Any], alone: LocalCluster, smallest: Task
) -> None:
    with open_evaluator(smallest, smallest.suite(), workers=1) as home:
        recording = home.record(one_file(HONEST)).process
        assert recording is not None
        best = ",".join(turn.replies[0].answer for turn in recording.turns[1:])
        with hostile(started, alone, smallest, {"better": best}) as remote:
            evaluator = RemoteEvaluator(home, remote)
            claimed = evaluator.evaluate(one_file(WORST))
            assert claimed.combined_score == home.evaluate(one_file(HONEST)).combined_score
            examined = evaluator.examine(one_file(WORST), claimed)
            assert examined.combined_score == home.evaluate(one_file(WORST)).combined_score
            assert examined.outcome is Outcome.OK
