"""The bounds of a suite, as a table and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from evaluator.task import Suite, Task
from evolve.review.scores import score_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone


def headline(task: Task, suite: Suite, ceiling: float | None) -> str:
    """How many bounds are proven optima, and the ceiling that follows from them."""
    proven = sum(instance.proven for instance in suite.instances)
    count = len(suite.instances)
    where = f"{task.name}/{suite.name}: {count} instances"
    if ceiling is None:
        return f"{where}, not all with a bound: no ceiling is known"
    if proven == count:
        return f"{where}, every optimum proven; no program can score above {score_text(ceiling)}"
    rest = "lower bounds for the rest" if proven else "lower bounds only"
    return f"{where}, {proven} optima proven, {rest}; no program can score above {score_text(ceiling)}"


def bounds_table(task: Task, suite: Suite, chosen: Iterable[int]) -> Table:
    """A row per instance: what it is like, its bound, and the best cost known."""
    table = TableOf(_row(task, suite, index) for index in chosen)
    table.column("instance", lambda row: str(row["instance"]), number=True)
    table.column("what", lambda row: str(row["description"]), fit=Fit.SPARE)
    table.column("lower bound", lambda row: Cell(_cost(row["bound"]), Tone.STRONG), number=True)
    table.column("exact", lambda row: row["exact"] or "-", fit=Fit.CUT)
    table.column("best known", lambda row: _cost(row["best_known"]), number=True)
    table.column("state", _state)
    return table.table()


def _cost(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.9f}"


def _state(row: Mapping[str, Any]) -> Cell:
    state = "no bound" if row["bound"] is None else "optimum" if row["proven"] else "bound"
    return Cell(state, Tone.GOOD if row["proven"] else Tone.QUIET)


def bounds_json(task: Task, suite: Suite, ceiling: float | None, chosen: Iterable[int]) -> dict[str, Any]:
    """The same as JSON: `bound` and `best_known` are costs (smaller is better), `exact` the bound as a fraction."""
    instances = [_row(task, suite, index) for index in chosen]
    return {"task": task.name, "suite": suite.name, "ceiling": ceiling, "instances": instances}


def _row(task: Task, suite: Suite, index: int) -> dict[str, Any]:
    instance = suite.instances[index]
    verdict = None if instance.best_answer is None else task.judge.judge(instance, instance.best_answer)
    return {
        "instance": index,
        "description": task.judge.describe(instance),
        "bound": None if instance.bound is None else float(instance.bound),
        "exact": None if instance.bound is None else str(instance.bound),
        "proven": instance.proven,
        "best_known": None if verdict is None or verdict.cost is None else float(verdict.cost),
    }
