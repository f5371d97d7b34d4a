"""Answers that come in the moment in which an exception ends the loop are paid for, and written down."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.events import Status
from evolve.archive.records import EndedGeneration
from evolve.core.completion import CallFailed
from evolve.loop.executor import Ended, Job, JobKind, ThreadExecutor
from evolve.progress import Event, Progress, Refused
from evolve.search.strategies import Sequential
from tests.loop.by_hand import Watch, begun
from tests.loop.climbing import configure, count, script
from tests.loop.virtual import VirtualExecutor

PARALLEL = 4


class ClosedPipe(Watch):
    """Its reader went away before the first refusal."""

    def tell(self, event: Event, progress: Progress) -> None:
        if isinstance(event, Refused):
            raise BrokenPipeError("closed")


def useless(folder: Path) -> str:
    return configure(folder, models=[script(folder, ["no patch"] * 8)], generations=8, parallel=PARALLEL, attempts=1)


def test_answers_that_come_together_are_on_record_where_the_first_one_ends_the_loop(tmp_path: Path) -> None:
    with begun(tmp_path / "runs" / "r", useless(tmp_path)) as run:
        run.executor, run.watch = VirtualExecutor(lambda job: 2.0), ClosedPipe()
        with pytest.raises(BrokenPipeError):
            run.go()
        left = run.archive.reader.unfinished()
    assert count(tmp_path, "asked") == count(tmp_path, "answered") == PARALLEL
    assert [begun.answer.text for begun in left if begun.answer is not None] == ["no patch"] * (PARALLEL - 1)


class WithoutRoom(Sequential):
    """A search of somebody's own that keeps notes of failures, on a disk that is full."""

    def ended(self, ended: EndedGeneration) -> None:
        if ended.status is Status.FAILED:
            raise OSError("the disk is full")
        super().ended(ended)


def test_an_answer_is_on_record_where_the_failure_of_one_before_it_ends_the_loop(tmp_path: Path) -> None:
    models = [script(tmp_path, [{"error": "connection"}, "no patch"])]
    search = {"strategy": f"{__name__}:{WithoutRoom.__name__}", "elites": 1}
    file = configure(tmp_path, models=models, generations=2, attempts=1, search=search)
    with begun(tmp_path / "runs" / "r", file) as run:
        run.executor = VirtualExecutor(lambda job: 2.0)
        with pytest.raises(OSError, match="full"):
            run.go()
        assert [
            (one.generation, one.status) for one in (*run.archive.reader.attempts(1), *run.archive.reader.attempts(2))
        ] == [
            (1, Status.FAILED),
            (2, Status.ANSWERED),
        ]


def fail() -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize("fails", [True, False])
def test_an_executor_that_closes_leaves_jobs_that_ended_and_what_is_to_be_kept(fails: bool) -> None:
    """Also where an action that came at the same time has raised; what else was posted is not done any more."""
    executor, done, refused = ThreadExecutor(asking=1, evaluating=1), list[str](), list[str]()

    def post(action: Callable[[], None], keep: bool) -> None:
        try:
            executor.post(action, keep=keep)
        except CallFailed as failed:
            refused.append(failed.reason)

    def keep() -> None:
        done.append("paid")

    job = Job(kind=JobKind.ASK, work=lambda: "an answer", generation=1)
    executor.begin(job)
    threads = [threading.Thread(target=post, args=one, daemon=True) for one in ((fail, False), (keep, True))]
    for number, thread in enumerate(threads, 1):
        thread.start()
        while executor._arrived.qsize() <= number:
            pass
    if fails:
        with pytest.raises(OSError, match="full"):
            executor.next_ended(1.0)
    left = executor.close()
    for thread in threads:
        thread.join(10.0)
    (ended,) = (one for one in left if isinstance(one, Ended))
    (action,) = (one for one in left if not isinstance(one, Ended))
    assert (ended.job, ended.result()) == (job, "an answer")
    assert refused == ["cancelled", "cancelled"] and not done
    action()
    assert done == ["paid"]
