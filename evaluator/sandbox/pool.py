"""The workers of one evaluator, shared by its threads: one candidate in flight for each worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from evaluator.sandbox.cancellation import SLICE_S, Cancellation
from evaluator.sandbox.levels import establish
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.resources import ensure_descriptors
from evaluator.sandbox.turns import OF_THIS_PROCESS, Places
from evaluator.sandbox.worker import Worker, WorkerSettings

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
        wanted: SandboxOptions,
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
        """A worker for one candidate; waits until one is free, and while another thread's candidate is to run alone.
        An exception inside retires the worker.

        `fresh`: one that has seen no other candidate.
        """
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
        """A worker that has seen no other candidate, while none but its own runs in this process."""
        with OF_THIS_PROCESS.alone(self.cancellation), self.worker(fresh=True) as worker:
            yield worker

    def close(self) -> None:
        """End every worker and every candidate, and whatever waits for one; takes a second at the most."""
        self.cancellation.set()
        for worker in self._places.drained(_CLOSING_S):
            if worker is not None:
                worker.close()
        # A thread that is busy with the task's own code cannot be stopped: its candidate is, and it closes the worker.
        for worker in tuple(self._busy):
            worker.kill()

    def _replaced(self, worker: Worker | None) -> Worker:
        """One that has seen no candidate, in place of another."""
        if worker is not None:
            worker.close()
        return Worker(self._settings, self.confinement, self.cancellation)
