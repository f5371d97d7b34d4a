"""The runs of an experiment: the state of each, and how they run, several at a time, each in its own process."""

import json
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluator.sandbox.options import SandboxOptions
from evolve.apps.experiment.plan import PlannedRun
from evolve.archive.events import FreshState
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import RunReader
from evolve.archive.records import CONFIRMING
from evolve.review.comparison import JudgedTogether, grouped, read_run
from evolve.search.stopping import StopReason
from evolve.trust import stored_config

_LIMITS = (StopReason.GENERATIONS, StopReason.BUDGET)
_FOR_GOOD = (StopReason.PATIENCE, StopReason.CEILING, StopReason.UNCONFIRMED)
_CHECKED = (*CONFIRMING, FreshState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """The state of a planned run: whether it was begun, whether it is done, and why it last stopped."""

    run: PlannedRun
    begun: bool
    done: bool
    finished: str | None = None
    proposals: int = 0
    best: float | None = None


def standing(run: PlannedRun) -> RunStanding:
    """The state of one run. Raises ArchiveError if its folder is damaged or no run."""
    if not (run.folder / JOURNAL).is_file():
        return RunStanding(run=run, begun=False, done=False)
    with RunReader.open(run.folder) as archive:
        finished, best = archive.finished, archive.best
        config = stored_config(archive)
        same = (config.generations, config.budget_usd) == (run.config.generations, run.config.budget_usd)
        checked = archive.fresh_of_best in _CHECKED  # else resuming makes the check
        done = checked and not archive.unfinished() and (finished in _FOR_GOOD or (finished in _LIMITS and same))
        return RunStanding(
            run=run,
            begun=True,
            done=done,
            finished=finished,
            proposals=archive.ended - 1,
            best=None if best is None else best.value,
        )


def side_by_side(runs: Sequence[PlannedRun]) -> list[JudgedTogether]:
    """These runs, grouped by judge and configuration. Raises ArchiveError, or InputError for fewer than two."""
    read = []
    for run in runs:
        with RunReader.open(run.folder) as archive:
            read.append(read_run(run.folder.name, archive))
    return grouped(read)


_TICK_S: Final = 0.5
_MOST_OUTPUT: Final = 2000  # characters of a dead process's error output


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message of a run: `begun`, its progress (`done`, `best`), how it ended (`reason`), or `error` with its exit
    code. `run` is None if no message came for a moment."""

    run: PlannedRun | None
    message: Mapping[str, Any]

    @property
    def is_last(self) -> bool:
        """Whether the run has ended."""
        return "reason" in self.message or "error" in self.message


class Conductor:
    """Runs the open runs, at most `at_once` at a time. `heard` gives their messages until all have ended."""

    def __init__(self, open_runs: Sequence[RunStanding], *, at_once: int, confined: SandboxOptions) -> None:
        self._left = deque(open_runs)
        self._at_once = at_once
        self._confined = confined
        self._under_way: dict[str, subprocess.Popen[bytes]] = {}
        self._messages: queue.Queue[Heard] = queue.Queue()  # as in `ThreadExecutor`
        self._stopping = False

    def heard(self) -> Iterator[Heard]:
        """The messages of the runs, as they come."""
        try:
            while self._schedule():
                try:
                    heard = self._messages.get(timeout=_TICK_S)
                except queue.Empty:
                    heard = Heard(run=None, message={})
                if heard.run is not None and heard.is_last:
                    del self._under_way[heard.run.shown]
                yield heard
        finally:
            self.stop()
            for child in self._under_way.values():
                child.wait()

    def stop(self) -> None:
        """Begin no further run, and let those in progress end as after Ctrl-C."""
        self._stopping = True
        for child in self._under_way.values():
            assert child.stdin is not None
            child.stdin.close()

    def _schedule(self) -> bool:
        """Begin as many runs as may be in progress; whether any is."""
        while self._left and len(self._under_way) < self._at_once and not self._stopping:
            self._begin(self._left.popleft())
        return bool(self._under_way)

    def _begin(self, standing: RunStanding) -> None:
        run = standing.run
        child = subprocess.Popen(
            [sys.executable, "-m", "evolve.apps.experiment.single"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the experiment, which stops its runs
        )
        job = {
            "shown": run.shown,
            "folder": str(run.folder),
            "config": run.config.model_dump(mode="json"),
            "begun": standing.begun,
            "require_level": self._confined.require_level,
            "unsafe": self._confined.unsafe,
        }
        assert child.stdin is not None
        child.stdin.write(json.dumps(job).encode() + b"\n")
        child.stdin.flush()
        self._under_way[run.shown] = child
        self._messages.put(Heard(run=run, message={"begun": standing.begun}))
        threading.Thread(target=self._listen, args=[run, child], daemon=True).start()

    def _listen(self, run: PlannedRun, child: subprocess.Popen[bytes]) -> None:
        """Pass on the messages of a run; if its process dies without a last one, add an error."""
        assert child.stdout is not None and child.stderr is not None
        complaints: deque[str] = deque(maxlen=20)
        lines = (line.decode("utf-8", "replace").strip() for line in child.stderr)
        reader = threading.Thread(target=complaints.extend, args=[lines], daemon=True)
        reader.start()
        heard = Heard(run=run, message={})
        for line in child.stdout:
            heard = Heard(run=run, message=json.loads(line))
            if not heard.is_last:  # the last one follows the end of the process
                self._messages.put(heard)
        code = child.wait()
        reader.join()
        if not heard.is_last:
            output = " ".join(complaints)[-_MOST_OUTPUT:] or "without an error message"
            heard = Heard(run=run, message={"error": f"its process ended with {code}: {output}", "exit_code": 3})
        self._messages.put(heard)
