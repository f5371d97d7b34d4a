"""One run of an experiment in its own process: it reads its job from the input and writes its progress as JSON lines.

When its input ends, it stops as after Ctrl-C, with all answers on record, so it never outlives the experiment. Only
`evolve.apps.experiment.conducting` begins `python -m evolve.apps.experiment.single`.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from evaluator.errors import EvaluatorError
from evaluator.sandbox.options import SandboxOptions
from evolve.core.config import build_config
from evolve.core.errors import EvolveError
from evolve.loop.session import Changes, Session, new_session, resumed_session
from evolve.progress import Event, Progress

_EVERY_S = 0.5
"""The least interval between two messages about its progress."""


class _Teller:
    """A listener that writes the progress of the run."""

    def __init__(self) -> None:
        self._last = 0.0

    def tell(self, event: Event, progress: Progress) -> None:
        """Write the progress after an event."""
        self.tick(progress)

    def tick(self, progress: Progress) -> None:
        """Write the progress, at most once in an interval."""
        if time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            best = progress.best
            _write({"done": progress.finished, "best": None if best is None else best.value})


def main() -> int:
    """Conduct the run in the first line of the input. Returns 0, or the exit code of the failure."""
    job = json.loads(sys.stdin.buffer.readline())
    interrupt = threading.Event()
    threading.Thread(target=_watch_input, args=[interrupt], daemon=True).start()
    try:
        with _session(job) as session:
            reason = session.run(_Teller(), interrupt)
    except (EvolveError, EvaluatorError) as error:
        _write({"error": str(error), "exit_code": error.exit_code})
        return error.exit_code
    _write({"reason": reason.value})
    return 0


def _session(job: Mapping[str, Any]) -> AbstractContextManager[Session]:
    folder = Path(job["folder"])
    config = build_config(job["config"], origin=job["shown"])
    confined = SandboxOptions(require_level=job["require_level"], unsafe=job["unsafe"])
    if not job["begun"]:
        return new_session(config, folder, confined=confined)
    budget = Changes(settings={"generations": config.generations, "budget_usd": config.budget_usd})
    return resumed_session(folder, budget, confined=confined)


def _watch_input(interrupt: threading.Event) -> None:
    # Not through sys.stdin: its lock would be held by this thread when the interpreter ends.
    while os.read(0, 4096):
        pass
    interrupt.set()


def _write(message: Mapping[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the experiment is gone, so the input ends as well
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main())
