"""How good the best was after how much (attempts, dollars, tokens, working time), and what stands next to that curve.

All values of a curve are those of one judge, the one that scores now. Where another evaluator scored earlier (`resume
--rescore`), what it said is in no curve: until then the best is that of the programs that were scored again, from when
each was recorded.
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
"""What a budget is of."""
_MEASURED: Final = PROGRAMS / "measured.json"
"""Scores of the programs that ship, measured by `docs/tables.py`, each with the evaluator that gave it."""
_BLOCKS: Final = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Where a run stood when a generation had ended: how many proposals had (the initial program is none), dollars as
    far as they are known, tokens, seconds that sessions had gone on, and the best value by then, if there was one."""

    generation: int
    attempts: int
    usd: float
    tokens: int
    seconds: float
    value: float | None


def curve(archive: RunReader) -> list[CurvePoint]:
    """A point for each generation that has ended, in the order in which they did."""
    points: list[CurvePoint] = []
    attempts = 0
    bests = Reign(archive)
    for ended in archive.endings():
        attempts += ended.parent is not None
        moment = ended.moment
        points.append(
            CurvePoint(
                generation=ended.generation,
                attempts=attempts,
                usd=moment.spent.known_usd,
                tokens=moment.spent.tokens,
                seconds=archive.chronicle.seconds(moment.t),
                value=bests.value_at(moment.position),
            )
        )
    return points


class Reign:
    """Which value was the best when so many generations had ended, as the judge has it that scores now."""

    def __init__(self, archive: RunReader) -> None:
        told = archive.reigns
        changes = [at for at, (_, record) in enumerate(told) if record is None]
        if changes:  # what was the best before was another judge's choice
            changed, _ = told[changes[-1]]
            again = new_bests(program for program in archive.programs if program.moment.position < changed)
            told = [*((program.moment.position, program) for program in again), *told[changes[-1] :]]
        self._positions = [position for position, _ in told]
        self._values = [None if record is None else record.value for _, record in told]

    def value_at(self, position: int) -> float | None:
        """None while there was no best."""
        at = bisect_right(self._positions, position)
        return self._values[at - 1] if at else None


def value_within(points: Sequence[CurvePoint], axis: str, budget: float) -> float | None:
    """The best value that a run had reached within a budget; None if it had none by then."""
    at = bisect_right(points, budget, key=lambda point: float(getattr(point, axis)))
    return points[at - 1].value if at else None


def spent_on(points: Sequence[CurvePoint], axis: str) -> float:
    """How far a run got along an axis."""
    return float(getattr(points[-1], axis)) if points else 0.0


def sampled(archive: RunReader, width: int = 16) -> list[float | None]:
    """The best value after equal shares of the generations that have ended, `width` of them or as many as there are."""
    bests, count = Reign(archive), min(width, archive.ended)
    return [bests.value_at(archive.ended * (step + 1) // count) for step in range(count)]


def sparkline(values: Sequence[float | None], direction: Direction) -> str:
    """Values as a row of blocks, the better the higher; a blank where there is none."""
    known = [direction.sign * value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return "".join(" " if value is None else _block(direction.sign * value, low, high) for value in values)


def _block(value: float, low: float, high: float) -> str:
    if high == low:
        return _BLOCKS[0]
    share = (value / 2 - low / 2) / (high / 2 - low / 2)  # halves: a difference may be beyond every float
    return _BLOCKS[min(len(_BLOCKS) - 1, int(share * len(_BLOCKS)))]


def lines(archive: RunReader) -> list[dict[str, Any]]:
    """The values of the initial program and of the task's baselines, by name. A baseline's was measured once: it is
    there only where the evaluator was the one that scored the run."""
    initial = archive.program(0)
    found = [] if initial is None or not initial.correct else [{"name": "initial", "value": initial.value}]
    suite = _measured().get(archive.identity["task"], {}).get("suites", {}).get(archive.identity["suite"])
    if suite is None or suite["evaluator_version"] != archive.identity.get("evaluator_version"):
        return found
    return found + [
        {"name": name, "value": program["value"]}
        for name, program in suite["programs"].items()
        if name != "initial" and not program["failed"]
    ]


def shipped_elsewhere(task: str, suite: str) -> dict[str, float]:
    """The other suites of a task that ships, each with the largest share of the proven optima that a complete program
    that ships reaches there; held-out suites are left out."""
    return {
        name: max(program["optimality"] for program in other["families"].values())
        for name, other in _measured().get(task, {}).get("suites", {}).items()
        if name != suite and not other["twin_of"] and other.get("families")
    }


def cpu_seconds(task: str, suite: str) -> dict[str, float]:
    """The CPU seconds of a call of each complete program that ships, by its name (`families/annealing`), on a suite."""
    programs = _measured().get(task, {}).get("suites", {}).get(suite, {}).get("families", {})
    return {name: program["cpu_s"] for name, program in programs.items()}


@cache
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_MEASURED.read_text(encoding="utf-8"))
    return found
