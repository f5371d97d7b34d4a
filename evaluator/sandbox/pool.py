"""The workers of one evaluator, shared by its threads: one candidate in flight for each worker."""

import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from evaluator.sandbox.cancellation import SLICE_S, Cancellation
from evaluator.sandbox.levels import establish
from evaluator.sandbox.resources import ensure_descriptors
from evaluator.sandbox.solitude import OF_THIS_PROCESS
from evaluator.sandbox.worker import Confinement, Worker, WorkerSettings

CANDIDATES_PER_WORKER: Final = 1000
"""After so many candidates a worker is replaced by a fresh one."""
_CLOSING_S: Final = 2 * SLICE_S
"""How long closing waits for threads to let go of their workers by themselves; then it kills what they hold."""


class WorkerPool:
    """`workers` zygotes; each is started when it is first needed, and replaced when it is worn or suspect.

    Once `cancellation` is set, whoever waits for a worker or for a candidate gets EvaluationCancelled.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        workers: int,
        cancellation: Cancellation,
        require_level: str | None = None,
        unsafe: bool = False,
        confinement: Confinement | None = None,
    ) -> None:
        """Start the first worker, so that a machine that cannot run candidates says so at once: SandboxError."""
        ensure_descriptors(workers)
        self.cancellation = cancellation
        self._settings = settings
        self._count = workers
        self._alone = threading.Lock()
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        self._busy: set[Worker] = set()
        self.verified, first = establish(
            settings, require_level=require_level, unsafe=unsafe, confinement=confinement, cancellation=cancellation
        )
        for _ in range(workers - 1):
            self._idle.put(None)
        self._idle.put(first)

    @contextmanager
    def worker(self, *, fresh: bool = False) -> Iterator[Worker]:
        """A worker for one candidate; waits until one is free, and while another thread's candidate is to run alone.
        An exception inside retires the worker.

        `fresh`: one that has seen no other candidate.
        """
        place = self._admitted()
        try:
            with self._working(place, fresh=fresh) as worker:
                yield worker
        finally:
            OF_THIS_PROCESS.leave()

    @contextmanager
    def _working(self, place: Worker | None, *, fresh: bool) -> Iterator[Worker]:
        worker = self._taken(place, fresh=fresh)
        self._busy.add(worker)
        try:
            yield worker
        except BaseException:  # boundary: whatever happened, the worker's state is unknown
            worker.retired = True
            raise
        finally:
            self._busy.discard(worker)
            if worker.retired or worker.candidates >= CANDIDATES_PER_WORKER or self.cancellation.is_set():
                worker.close()
                self._idle.put(None)
            else:
                self._idle.put(worker)

    @contextmanager
    def alone(self, *, fresh: bool = False) -> Iterator[Worker]:
        """A worker while every other one of this pool is idle; `fresh` as in `worker`."""
        # Among the others before anything is held: else this would wait for who is to be alone, and that one for this.
        with OF_THIS_PROCESS.among(self.cancellation), self._alone:
            held: list[Worker | None] = []
            try:
                for _ in range(self._count - 1):
                    held.append(self._next())  # noqa: PERF401 - those that are held must be given back
                with self.worker(fresh=fresh) as worker:
                    yield worker
            finally:
                for other in held:
                    self._idle.put(other)

    def close(self) -> None:
        """End every worker and every candidate, and whatever waits for one; takes a second at the most."""
        self.cancellation.set()
        deadline = time.monotonic() + _CLOSING_S
        closed = 0
        with contextlib.suppress(queue.Empty):
            while closed < self._count:
                worker = self._idle.get(timeout=max(0.0, deadline - time.monotonic()))
                if worker is not None:
                    worker.close()
                closed += 1
        for _ in range(closed):
            self._idle.put(None)
        # A thread that is busy with the task's own code cannot be stopped: its candidate is, and it closes the worker.
        for worker in tuple(self._busy):
            worker.kill()

    def _admitted(self) -> Worker | None:
        """The place of a worker, with this thread among those that run candidates. Raises EvaluationCancelled."""
        while True:
            place = self._next()
            if OF_THIS_PROCESS.enter():
                return place
            self._idle.put(place)  # whoever is to be alone may need it
            OF_THIS_PROCESS.wait()

    def _taken(self, worker: Worker | None, *, fresh: bool) -> Worker:
        try:
            if worker is not None and (not fresh or worker.candidates == 0):
                return worker
            if worker is not None:
                worker.close()
            worker = Worker(self._settings, self.verified.confinement, self.cancellation)
            worker.expected = self.verified.layers
            worker.ready()
        except BaseException:  # boundary: the place of a worker that cannot start must not be lost
            self._idle.put(None)
            raise
        return worker

    def _next(self) -> Worker | None:
        """The place of a worker, as soon as one is free. Raises EvaluationCancelled."""
        while True:
            self.cancellation.check()
            try:
                return self._idle.get(timeout=SLICE_S)
            except queue.Empty:
                continue
