"""The workers of one evaluator, shared by its threads: one candidate in flight for each worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from evaluator.sandbox.levels import establish
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.resources import ensure_descriptors
from evaluator.sandbox.turns import OF_THIS_PROCESS, SLICE_S, Cancellation, Places
from evaluator.sandbox.worker import Worker, WorkerSettings

CANDIDATES_PER_WORKER: Final = 1000
"""The number of candidates after which a fresh worker replaces another."""
_CLOSING_S: Final = 2 * SLICE_S
"""How long closing waits for threads to return their workers; then it kills those workers."""


class WorkerPool:
    """`workers` zygotes; each starts when it is first needed, and is replaced when it is worn or suspect. Once
    `cancellation` is set, every wait for a worker or a candidate raises EvaluationCancelled."""

    def __init__(
        self, settings: WorkerSettings, *, workers: int, cancellation: Cancellation, wanted: SandboxOptions
    ) -> None:
        """Start the first worker, so that a machine that cannot run candidates says so at once: SandboxError."""
        ensure_descriptors(workers)
        self.cancellation = cancellation
        self._settings = settings
        self._busy: set[Worker] = set()
        first, self.confinement = establish(settings, wanted, cancellation)
        self._places: Places[Worker | None] = Places([*[None] * (workers - 1), first], cancellation)

    @contextmanager
    def worker(self, *, fresh: bool = False) -> Iterator[Worker]:
        """Wait for a worker for one candidate, and while another thread is exclusive. An exception inside the block
        retires the worker. `fresh`: a worker without a candidate before."""
        place, worker, kept = self._places.take(), None, None
        try:
            worker = place if place is not None and not (fresh and place.candidates) else self._replaced(place)
            self._busy.add(worker)
            yield worker
        except BaseException:  # boundary: whatever happened, the worker's state is unknown
            if worker is not None:
                worker.retired = True
            raise
        finally:
            try:
                if worker is not None:
                    self._busy.discard(worker)
                    if worker.retired or worker.candidates >= CANDIDATES_PER_WORKER or self.cancellation.is_set():
                        worker.close()
                    else:
                        kept = worker
            finally:
                self._places.give_back(kept)

    @contextmanager
    def alone(self) -> Iterator[Worker]:
        """A fresh worker, while no other candidate runs in this process."""
        with OF_THIS_PROCESS.alone(self.cancellation), self.worker(fresh=True) as worker:
            yield worker

    def close(self) -> None:
        """End every worker, every candidate and every wait for one, within a second."""
        self.cancellation.set()
        for worker in self._places.drained(_CLOSING_S):
            if worker is not None:
                worker.close()
        # A thread that runs the task's own code cannot be stopped: its candidate is killed, and it closes the worker.
        for worker in tuple(self._busy):
            worker.kill()

    def _replaced(self, worker: Worker | None) -> Worker:
        """A fresh worker in place of another."""
        if worker is not None:
            worker.close()
        return Worker(self._settings, self.confinement, self.cancellation)
