"""The workers of one evaluator, shared by its threads: one candidate in flight for each worker."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from evaluator.errors import SandboxError
from evaluator.sandbox.levels import establish
from evaluator.sandbox.worker import Confinement, Worker, WorkerSettings

CANDIDATES_PER_WORKER: Final = 1000
"""After so many candidates a worker is replaced by a fresh one."""


class WorkerPool:
    """`workers` zygotes; each is started when it is first needed, and replaced when it is worn or suspect."""

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        workers: int,
        require_level: str | None = None,
        unsafe: bool = False,
        confinement: Confinement | None = None,
    ) -> None:
        """Start the first worker, so that a machine that cannot run candidates says so at once: SandboxError."""
        self._settings = settings
        self._count = workers
        self._alone = threading.Lock()
        self._closed = threading.Event()
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        self.verified, first = establish(settings, require_level=require_level, unsafe=unsafe, confinement=confinement)
        for _ in range(workers - 1):
            self._idle.put(None)
        self._idle.put(first)

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """A worker for one candidate; waits until one is free. An exception inside retires the worker."""
        worker = self._take()
        try:
            yield worker
        except BaseException:  # boundary: whatever happened, the worker's state is unknown
            worker.close()
            self._idle.put(None)
            raise
        if worker.retired or worker.candidates >= CANDIDATES_PER_WORKER:
            worker.close()
            self._idle.put(None)
        else:
            self._idle.put(worker)

    @contextmanager
    def alone(self) -> Iterator[Worker]:
        """A worker while every other one is idle."""
        with self._alone:
            held = [self._idle.get() for _ in range(self._count - 1)]
            try:
                with self.worker() as worker:
                    yield worker
            finally:
                for other in held:
                    self._idle.put(other)

    def close(self) -> None:
        """End every worker, once each is idle. Whoever waits for one, or asks later, gets SandboxError."""
        self._closed.set()
        with self._alone:
            for worker in [self._idle.get() for _ in range(self._count)]:
                if worker is not None:
                    worker.close()
            for _ in range(self._count):
                self._idle.put(None)  # for those who wait, and find the pool closed

    def _take(self) -> Worker:
        worker = self._idle.get()
        if self._closed.is_set():
            self._idle.put(worker)
            raise SandboxError("the evaluator is closed")
        if worker is not None:
            return worker
        try:
            worker = Worker(self._settings, self.verified.confinement)
            worker.expected = self.verified.layers
            worker.ready()
        except BaseException:  # boundary: the place of a worker that cannot start must not be lost
            self._idle.put(None)
            raise
        return worker
