"""Jobs, and who does them. A generator yields the job that it waits for; the loop has an executor begin it, and hears
which job ended next.

In a run, threads do the jobs. A rerun takes from the record which job ends next (`evolve.loop.rerun.driving`). Tests
of the loop let virtual time pass.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from queue import Empty, Queue
from typing import Any, Protocol, TypeVar

from evolve.core.completion import CallFailed

_T = TypeVar("_T")


class JobKind(StrEnum):
    """What is done in a job."""

    ASK = "asking"
    TUNE = "tuning"
    EVALUATE = "evaluating"
    CONFIRM = "confirming"
    RESCORE = "scoring again"
    SUMMARISE = "summarising"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """Work that a generator waits for; `generation` is the one that people are shown for it."""

    kind: JobKind
    work: Callable[[], Any]
    generation: int | None = None


Steps = Generator[Job, Any, None]
"""What the loop drives. Where no answer can be had it throws CallFailed; what is left for a later session is closed."""


class BudgetReached(Exception):  # it says what happened
    """Raised by a generator whose next question a budget does not allow. Nothing was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A job that has ended, after `took_s` of work, with what its work returned or raised."""

    job: Job
    took_s: float
    returned: Any = None
    raised: BaseException | None = None

    def result(self) -> Any:
        """What the work returned; raises what it raised."""
        if self.raised is not None:
            raise self.raised
        return self.returned


def done(job: Job, now: Callable[[], float]) -> Ended:
    """Do the work of a job."""
    began = now()
    try:
        returned = job.work()
    except BaseException as raised:  # noqa: BLE001 - boundary: the thread that takes the result raises it
        return Ended(job=job, took_s=now() - began, raised=raised)
    return Ended(job=job, took_s=now() - began, returned=returned)


class Executor(Protocol):
    """Does jobs, and tells time. All but `post` is called by the thread that owns the archive."""

    def now(self) -> float:
        """Seconds, of a clock that never goes back."""
        ...

    def begin(self, job: Job) -> None:
        """Have a job done."""
        ...

    def next_ended(self, timeout_s: float) -> Sequence[Ended] | None:
        """Wait until something happens, do what was posted, and return the jobs that ended; None when nothing happened
        for that long."""
        ...

    def post(self, action: Callable[[], _T], *, keep: bool = False) -> _T:
        """Have the owner's thread do `action`, and return its result. For the threads that do the jobs. Raises
        CallFailed (`cancelled`) once the executor is closed. `keep`: it writes down what was paid for, so `close`
        returns it if nobody did it."""
        ...

    def close(self) -> Sequence[Ended | Callable[[], object]]:
        """End: nothing that was posted is done any more, and no job begins. Returns the jobs that ended and were not
        returned before, and the actions to be kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    action: Callable[[], Any]
    outcome: Future[Any]
    keep: bool


class ThreadExecutor:
    """An executor of threads: some ask models, the others evaluate. Ended jobs and posted actions come in one queue."""

    def __init__(self, *, asking: int, evaluating: int, cancel: Callable[[], object] = lambda: None) -> None:
        """With threads for that many jobs of each sort; `cancel` ends evaluations under way."""
        self._cancel = cancel
        self._asking = ThreadPoolExecutor(asking, thread_name_prefix="ask")
        self._evaluating = ThreadPoolExecutor(evaluating, thread_name_prefix="evaluate")
        # No SimpleQueue: its `get` waits for ever once a signal's handler has run past the end of the timeout.
        self._arrived: Queue[Ended | _Posted] = Queue()
        self._taken: list[Ended | _Posted] = []  # out of the queue, in order; they stay if an action raises
        self._lock = threading.Lock()
        self._unsettled: set[Future[Any]] = set()  # of what was posted and has no outcome yet
        self._closed = False

    def now(self) -> float:
        """See Executor.now."""
        return time.monotonic()

    def begin(self, job: Job) -> None:
        """See Executor.begin."""
        pool = self._asking if job.kind in (JobKind.ASK, JobKind.SUMMARISE) else self._evaluating
        pool.submit(lambda: self._arrived.put(done(job, self.now)))

    def next_ended(self, timeout_s: float) -> Sequence[Ended] | None:
        """See Executor.next_ended."""
        try:
            self._taken.append(self._arrived.get(timeout=timeout_s))
        except Empty:
            return None
        self._take_all()
        ended = [one for one in self._taken if isinstance(one, Ended)]
        for posted in [one for one in self._taken if isinstance(one, _Posted)]:
            self._taken.remove(posted)
            self._serve(posted)
        self._taken.clear()
        return ended

    def _take_all(self) -> None:
        while not self._arrived.empty():  # nobody else takes anything out
            self._taken.append(self._arrived.get_nowait())

    def post(self, action: Callable[[], _T], *, keep: bool = False) -> _T:
        """See Executor.post."""
        posted = _Posted(action=action, outcome=Future(), keep=keep)
        with self._lock:
            if self._closed:
                raise _ending()
            self._unsettled.add(posted.outcome)
            self._arrived.put(posted)
        outcome: _T = posted.outcome.result()
        return outcome

    def close(self) -> Sequence[Ended | Callable[[], object]]:
        """See Executor.close."""
        with self._lock:
            self._closed = True
        self._take_all()
        left = [
            one if isinstance(one, Ended) else one.action for one in self._taken if isinstance(one, Ended) or one.keep
        ]
        self._cancel()
        for outcome in self._unsettled:  # those of a batch that an exception cut short, too
            outcome.set_exception(_ending())
        self._unsettled.clear()
        for pool in (self._asking, self._evaluating):
            pool.shutdown(wait=False, cancel_futures=True)
        return left

    def _serve(self, posted: _Posted) -> None:
        result = posted.action()  # what it raises is the owner's, who closes then
        with self._lock:
            self._unsettled.discard(posted.outcome)
        posted.outcome.set_result(result)


def _ending() -> CallFailed:
    return CallFailed("cancelled", "the run is ending")
