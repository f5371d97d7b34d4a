"""How many generations the loop has under way, and when it ends: in virtual time, so that no test waits."""

from pathlib import Path

import pytest

from evolve.archive.events import Status
from evolve.loop.executor import Job, JobKind
from evolve.search.stopping import StopReason
from tests.loop.by_hand import begun
from tests.loop.climbing import configure, count, patch, script
from tests.loop.virtual import VirtualExecutor

ASK_S = 2.0


def takes(job: Job) -> float:
    """Asking takes long, everything else next to nothing."""
    return ASK_S if job.kind is JobKind.ASK else 0.001


def configured(folder: Path, *, generations: int, parallel: int, minutes: float | None = None) -> str:
    answers = [patch(0.5 + number / 1000) for number in range(1, generations + 1)]
    models = [script(folder, answers)]
    return configure(folder, models=models, generations=generations, parallel=parallel, minutes=minutes)


def test_requests_are_under_way_all_the_time(tmp_path: Path) -> None:
    """The ideal is one round of requests after the other, with nothing between."""
    with begun(tmp_path / "runs" / "r", configured(tmp_path, generations=32, parallel=8)) as run:
        run.executor = executor = VirtualExecutor(takes)
        assert run.go() is StopReason.GENERATIONS
        assert len(run.archive.reader.statuses) == 33
    assert 8 <= executor.most <= 17, "never more than twice as many, and a confirmation"
    assert executor.now() <= 32 / 8 * ASK_S / 0.95


@pytest.mark.parametrize("parallel", [1, 4])
def test_at_the_limit_of_minutes_nothing_new_begins_and_what_is_asked_is_answered(
    tmp_path: Path, parallel: int
) -> None:
    """The answers that come after the limit are on record, for the next session to evaluate."""
    with begun(tmp_path / "runs" / "r", configured(tmp_path, generations=40, parallel=parallel, minutes=0.0834)) as run:
        run.executor = executor = VirtualExecutor(takes)
        assert run.go() is StopReason.MINUTES
        statuses = run.archive.reader.statuses
    assert 5.0 <= executor.now() <= 5.0 + ASK_S + 1.0
    assert count(tmp_path, "asked") == count(tmp_path, "answered") == len(statuses) - 1
    assert Status.FAILED not in statuses.values()


def test_an_evaluation_that_takes_too_long_after_a_limit_is_left_to_the_next_session(tmp_path: Path) -> None:
    def slow(job: Job) -> float:
        return 1000.0 if job.kind is JobKind.EVALUATE else 1.0

    with begun(tmp_path / "runs" / "r", configured(tmp_path, generations=4, parallel=1, minutes=0.05)) as run:
        run.executor = executor = VirtualExecutor(slow)
        assert run.go() is StopReason.MINUTES
        (left,) = run.archive.reader.unfinished()
    assert left.answer is not None
    assert executor.now() < 10.0
