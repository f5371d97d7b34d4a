"""The workers of a cluster in words, and as JSON for the pages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evaluator.evaluation import EvaluatedOn
from evaluator.remote import WorkerActivity, WorkerState
from evaluator.untrusted import one_line
from evolve.archive.events import WorkerChange, WorkerEvent
from evolve.archive.reader import RunReader

_MINUTE_S: Final = 60.0
_PACE_OVER_S: Final = 300.0
"""The pace of a worker on a page is counted over this many seconds."""
_ORDER: Final = (
    WorkerActivity.BUSY,
    WorkerActivity.IDLE,
    WorkerActivity.OPENING,
    WorkerActivity.NEW,
    WorkerActivity.LOST,
    WorkerActivity.REFUSED,
    WorkerActivity.EXPELLED,
)
_WORDS: Final[Mapping[WorkerChange, str]] = {
    WorkerChange.JOINED: "joined",
    WorkerChange.LOST: "was lost",
    WorkerChange.REFUSED: "is refused",
    WorkerChange.EXPELLED: "is expelled",
}


def on_host(on: EvaluatedOn | None) -> str:
    """The text behind what a worker says of a program; empty where the head says it."""
    return "" if on is None else f" (on host {one_line(on.host, 60)})"


def evaluated_on_text(on: EvaluatedOn | None, *, self_judged: bool) -> str | None:
    """Where a program ran, and what follows from that; None for the head. `self_judged`: so is its score."""
    if on is None:
        return None
    place = f"host {one_line(on.host, 60)}, worker {one_line(on.worker, 60)}"
    if self_judged:
        return f"{place}: score, CPU time, memory and crashes are its word"
    return f"{place}: its answers were judged here; CPU time, memory and crashes are its word"


def place_json(on: EvaluatedOn | None) -> dict[str, str] | None:
    """Where a program ran; None for the head."""
    return None if on is None else {"host": on.host, "worker": on.worker}


def changed_worker_text(event: WorkerEvent) -> str:
    """What happened to a worker, in a line."""
    sentence = f"worker {one_line(event.worker, 60)} on host {one_line(event.host, 60)} {_WORDS[event.change]}"
    sentence += f", sandbox level {event.level}" if event.change is WorkerChange.JOINED and event.level else ""
    sentence += f": {one_line(event.why, 300)}" if event.why else ""
    if event.rescore:
        sentence += f". Its {len(event.rescore)} unconfirmed results are scored again"
    return sentence


def workers_summary(workers: Sequence[WorkerState]) -> str:
    """How many workers are in each state, and what all do in a minute."""
    states = Counter(worker.state for worker in workers)
    counts = ", ".join(f"{states[state]} {state.value}" for state in _ORDER if states[state])
    return f"{counts}; {sum(worker.per_minute for worker in workers):.1f} candidates/min"


def workers_text(workers: Sequence[WorkerState], *, shown: int) -> str:
    """The summary, and a line for each of the first workers, those in trouble last."""
    ranked = sorted(workers, key=lambda worker: (_ORDER.index(worker.state), worker.name))
    lines = [workers_summary(workers), *map(_line, ranked[:shown])]
    return "\n".join(lines + ([f"and {len(ranked) - shown} more"] if len(ranked) > shown else []))


def _line(worker: WorkerState) -> str:
    name, host = one_line(worker.name, 40), one_line(worker.host, 40)
    head = f"{name} on {host}: {worker.state.value}"
    if worker.why:
        return f"{head} ({one_line(worker.why, 100)})"
    return f"{head}, level {worker.level}, {worker.done} done, {worker.per_minute:.1f}/min"


def workers_json(archive: RunReader) -> list[dict[str, Any]]:
    """The workers of a run for a page, by name: what happened to each last, how many programs it evaluated, and how
    many in a minute of late."""
    minutes = max(1.0, min(_PACE_OVER_S, archive.newest - archive.began)) / _MINUTE_S
    return [
        {
            "worker": name,
            "host": event.host,
            "change": event.change.value,
            "level": event.level,
            "why": event.why,
            "done": archive.worked.done[name],
            "per_minute": round(archive.worked.since(name, archive.newest - _PACE_OVER_S) / minutes, 1),
        }
        for name, event in sorted(archive.workers.items())
    ]
