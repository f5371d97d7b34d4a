"""One run of an experiment in a process of its own: told what on its input, it tells how it goes, a JSON line each.

Once its input ends it stops as after Ctrl-C, with all that was answered on record: so none outlives the experiment,
however that ends. `python -m evolve.apps.experiment.single` is begun by `evolve.apps.experiment.conducting` alone.
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
"""How often it tells how far it has come, at most."""


class _Teller:
    """A listener that writes how far the run has come."""

    def __init__(self) -> None:
        self._last = 0.0

    def tell(self, event: Event, progress: Progress) -> None:
        """Something happened."""
        self.tick(progress)

    def tick(self, progress: Progress) -> None:
        """Time went on."""
        if time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            best = progress.best
            _write({"done": progress.finished, "best": None if best is None else best.value})


def main() -> int:
    """Conduct the run that the first line of the input names. 0, or the exit code of what went wrong."""
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


def _write(said: Mapping[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever listened is gone; the end of the input says so, too
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main())
