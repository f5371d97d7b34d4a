"""The runs of an experiment, several at a time, each in a process of its own."""

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
from evolve.apps.experiment.standing import RunStanding

_TICK_S: Final = 0.5
_LAST_WORDS: Final = 2000  # of what a process that died wrote as an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a run said: `begun`, how far it has come (`done`, `best`), how it ended (`reason`), or `error` with its exit
    code. A run is None when nothing was said for a moment."""

    run: PlannedRun | None
    said: Mapping[str, Any]


class Conductor:
    """Runs what is open, at most `at_once` at a time. `heard` tells what they say, until all have ended."""

    def __init__(self, open_runs: Sequence[RunStanding], *, at_once: int, confined: SandboxOptions) -> None:
        self._left = deque(open_runs)
        self._at_once = at_once
        self._confined = confined
        self._under_way: dict[str, subprocess.Popen[bytes]] = {}
        self._said: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._stopping = False

    def heard(self) -> Iterator[Heard]:
        """What the runs say, as they say it."""
        try:
            while self._begin_what_may():
                try:
                    heard = self._said.get(timeout=_TICK_S)
                except queue.Empty:
                    heard = Heard(run=None, said={})
                if heard.run is not None and ("reason" in heard.said or "error" in heard.said):
                    del self._under_way[heard.run.shown]
                yield heard
        finally:
            self.stop()
            for child in self._under_way.values():
                child.wait()

    def stop(self) -> None:
        """Begin none any more, and let those under way end as after Ctrl-C."""
        self._stopping = True
        for child in self._under_way.values():
            assert child.stdin is not None
            child.stdin.close()

    def _begin_what_may(self) -> bool:
        """Begin as many as may be under way; whether any is."""
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
            start_new_session=True,  # Ctrl-C is told to the experiment, which tells its runs
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
        self._said.put(Heard(run=run, said={"begun": standing.begun}))
        threading.Thread(target=self._listen, args=[run, child], daemon=True).start()

    def _listen(self, run: PlannedRun, child: subprocess.Popen[bytes]) -> None:
        """Pass on what a run says; that it died without a word about it is said for it."""
        assert child.stdout is not None and child.stderr is not None
        complaints: deque[str] = deque(maxlen=20)
        lines = (line.decode("utf-8", "replace").strip() for line in child.stderr)
        reader = threading.Thread(target=complaints.extend, args=[lines], daemon=True)
        reader.start()
        ended = False
        for line in child.stdout:
            said = json.loads(line)
            ended = ended or "reason" in said or "error" in said
            if not ended:
                self._said.put(Heard(run=run, said=said))
        code = child.wait()
        reader.join()
        if not ended:
            words = " ".join(complaints)[-_LAST_WORDS:] or "it said nothing"
            said = {"error": f"its process ended with {code}: {words}", "exit_code": 3}
        self._said.put(Heard(run=run, said=said))
