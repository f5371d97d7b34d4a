"""A worker in this process: its reports travel as text, and nothing else is between it and the head."""

from evaluator.opening import open_evaluator
from evaluator.program_files import Files
from evaluator.remote import Reported, WorkerActivity, WorkerState, record
from evaluator.task import Suite, Task


class NearRemote:
    """One worker, with a sandbox of its own."""

    def __init__(self, task: Task, suite: Suite) -> None:
        self._worker = open_evaluator(task, suite, workers=2)
        self.level = self._worker.sandbox

    def run(self, program: Files, *, avoid: frozenset[str] = frozenset(), only: str | None = None) -> Reported:
        """See Remote."""
        text = record(self._worker, program, host="near", worker="near-1").to_json()
        return Reported.from_json(text, host="near", worker="near-1")

    def workers(self) -> tuple[WorkerState, ...]:
        """See Remote."""
        return (WorkerState(name="near-1", host="near", level=self.level, state=WorkerActivity.IDLE),)

    def expel(self, worker: str, why: str) -> None:
        """See Remote."""
        raise AssertionError(f"{worker} does not lie: {why}")

    def cancel(self) -> None:
        """See Remote."""
        self._worker.cancel()

    def close(self) -> None:
        """See Remote."""
        self._worker.close()
