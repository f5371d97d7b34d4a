"""The best value over attempts, dollars, tokens or working time, and the reference values for that curve.

All values of a curve come from one judge, the present one. After `resume --rescore` the earlier evaluator's values are
in no curve: until the change, the best is that of the rescored programs, each from the time of its record.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from evaluator.objective import Direction
from evaluator.places import PROGRAMS
from evolve.archive.ranking import new_bests
from evolve.archive.reader import RunReader

AXES: Final = ("attempts", "usd", "tokens", "seconds")
"""The units of a budget."""
_MEASURED: Final = PROGRAMS / "measured.json"
"""Scores of the programs that ship, measured by `docs/tables.py`, each with the evaluator that gave it."""
_BLOCKS: Final = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """The state of a run at the end of a generation: ended proposals (the initial program counts in none), known
    dollars, tokens, seconds in sessions, and the best value, if there is one."""

    generation: int
    attempts: int
    usd: float
    tokens: int
    seconds: float
    value: float | None


def curve(archive: RunReader) -> list[CurvePoint]:
    """A point for each generation that has ended, in the order of their ends."""
    points: list[CurvePoint] = []
    attempts = 0
    bests = BestHistory(archive)
    for ended in archive.endings():
        attempts += ended.parent is not None
        moment = ended.moment
        points.append(
            CurvePoint(
                generation=ended.generation,
                attempts=attempts,
                usd=moment.spent.known_usd,
                tokens=moment.spent.tokens,
                seconds=archive.timeline.seconds(moment.t),
                value=bests.value_at(moment.position),
            )
        )
    return points


class BestHistory:
    """The best value at each journal position, by the present judge."""

    def __init__(self, archive: RunReader) -> None:
        history = archive.best_history
        changes = [at for at, (_, record) in enumerate(history) if record is None]
        if changes:  # what was the best before was another judge's choice
            changed, _ = history[changes[-1]]
            again = new_bests(program for program in archive.programs if program.moment.position < changed)
            history = [*((program.moment.position, program) for program in again), *history[changes[-1] :]]
        self._positions = [position for position, _ in history]
        self._values = [None if record is None else record.value for _, record in history]

    def value_at(self, position: int) -> float | None:
        """The best value at a position; None while there was no best."""
        at = bisect_right(self._positions, position)
        return self._values[at - 1] if at else None


def value_within(points: Sequence[CurvePoint], axis: str, budget: float) -> float | None:
    """The best value of a run within a budget; None without one."""
    at = bisect_right(points, budget, key=lambda point: float(getattr(point, axis)))
    return points[at - 1].value if at else None


def spent_on(points: Sequence[CurvePoint], axis: str) -> float:
    """How much of an axis a run has used."""
    return float(getattr(points[-1], axis)) if points else 0.0


def sampled(archive: RunReader, width: int = 16) -> list[float | None]:
    """The best value after equal shares of the generations that have ended, `width` of them or as many as there are."""
    bests, count = BestHistory(archive), min(width, archive.ended)
    return [bests.value_at(archive.ended * (step + 1) // count) for step in range(count)]


def sparkline(values: Sequence[float | None], direction: Direction) -> str:
    """Values as a row of blocks, the better the higher; a blank where there is none."""
    scores = [direction.sign * value for value in values if value is not None]
    if not scores:
        return ""
    low, high = min(scores), max(scores)
    return "".join(" " if value is None else _block(direction.sign * value, low, high) for value in values)


def _block(value: float, low: float, high: float) -> str:
    if high == low:
        return _BLOCKS[0]
    share = (value / 2 - low / 2) / (high / 2 - low / 2)  # halves: a difference may be beyond every float
    return _BLOCKS[min(len(_BLOCKS) - 1, int(share * len(_BLOCKS)))]


def lines(archive: RunReader) -> list[dict[str, Any]]:
    """The values of the initial program and of the task's baselines, by name. Baselines were measured once: they are
    given only where the same evaluator scored the run."""
    initial = archive.program(0)
    reference_lines = [] if initial is None or not initial.correct else [{"name": "initial", "value": initial.value}]
    suite = _measured().get(archive.identity["task"], {}).get("suites", {}).get(archive.identity["suite"])
    if suite is None or suite["evaluator_version"] != archive.identity.get("evaluator_version"):
        return reference_lines
    return reference_lines + [
        {"name": name, "value": program["value"]}
        for name, program in suite["programs"].items()
        if name != "initial" and not program["failed"]
    ]


def shipped_elsewhere(task: str, suite: str) -> dict[str, float]:
    """The other suites of a shipped task but for held-out ones, each with the largest share of the proven optima that a
    shipped complete program reaches there."""
    return {
        name: max(program["optimality"] for program in measured["families"].values())
        for name, measured in _measured().get(task, {}).get("suites", {}).items()
        if name != suite and not measured["twin_of"] and measured.get("families")
    }


def cpu_seconds(task: str, suite: str) -> dict[str, float]:
    """The CPU seconds per call of each shipped complete program (`families/annealing`) on a suite."""
    programs = _measured().get(task, {}).get("suites", {}).get(suite, {}).get("families", {})
    return {name: program["cpu_s"] for name, program in programs.items()}


@cache
def _measured() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(_MEASURED.read_text(encoding="utf-8"))
    return tables
