"""A placement in words and tables."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from evolve.apps.placing.instance import description
from evolve.apps.placing.plan import CURRENT, PlacementPlan, Relocation, Solved, placement_json
from evolve.apps.placing.trying import Reached
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.review.texts import counted


def heading(plan: PlacementPlan) -> str:
    """`16 GPUs of 80 GB, 60 models: largest pressure 0.0213`."""
    return f"{description(plan.cluster)}: largest pressure {float(plan.pressure):.6g}, by {plan.program}"


def gpu_table(plan: PlacementPlan, *, most: int) -> tuple[Table, str]:
    """The GPUs by number, of many the most pressed, and what is said of those that are left out."""
    rows = sorted(placement_json(plan.cluster, plan.placement), key=lambda row: (-row["pressure"], row["gpu"]))
    largest = float(plan.pressure)
    table = TableOf(sorted(rows[:most], key=lambda row: row["gpu"]))
    for title, key in (("GPU", "gpu"), ("pressure", "pressure"), ("used GB", "used_gb"), ("free GB", "free_gb")):
        table.column(title, partial(_figure, key, largest), number=True)
    table.column("models", lambda row: ", ".join(row["models"]), fit=Fit.FOLD)
    return table.table(), _more(len(rows) - most, "more GPUs, all less pressed")


def _figure(key: str, largest: float, row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row[key]:.6g}", Tone.STRONG if row["pressure"] == largest else Tone.PLAIN)


def moves_table(plan: PlacementPlan, *, most: int) -> tuple[Table, str]:
    """What moves, the largest first, and what is said of the moves that are left out."""
    models = plan.cluster.models
    order = sorted(plan.moves or (), key=lambda move: (-models[move.model].size, move.model))
    table = TableOf(order[:most])
    table.column("model", lambda move: models[move.model].name)
    table.column("GB", lambda move: f"{float(models[move.model].size):.6g}", number=True)
    table.column("from GPU", lambda move: "none" if move.source is None else str(move.source), number=True)
    table.column("to", lambda move: str(move.target), number=True)
    return table.table(), _more(len(order) - most, "more moves")


def tried_table(tried: Sequence[Reached]) -> Table:
    """The programs in the order in which they were tried."""
    best = min((one.pressure for one in tried if one.pressure is not None), default=None)

    def pressure(one: Reached) -> Cell:
        shown = "" if one.pressure is None else f"{float(one.pressure):.6g}"
        return Cell(shown, Tone.STRONG if one.pressure == best else Tone.PLAIN)

    table = TableOf(tried)
    table.column("program", lambda one: one.name)
    table.column("pressure", pressure, number=True)
    table.column("s", lambda one: f"{one.seconds:.2f}" if one.seconds else "", number=True)
    table.column("", lambda one: Cell(one.detail, Tone.QUIET if one.cut_off else Tone.BAD), fit=Fit.FOLD)
    return table.table()


def fields(plan: PlacementPlan, solver: Solved | str) -> Iterator[tuple[str, str]]:
    """The bound, the exact solver, and the current placement, each in a sentence."""
    how = "nothing is better" if plan.pressure == plan.bound else f"{plan.gap:.4%} above it".replace("%", " %")
    yield "bound", f"{float(plan.bound):.6g}, which no placement can be below, by counting: {how}"
    yield "exact solver", solver if isinstance(solver, str) else _of_solver(plan, solver)
    if plan.moves is None:
        return
    if plan.program == CURRENT:
        yield "current", "nothing that was tried is better: nothing moves"
        return
    before = plan.why_current_not
    if plan.current_pressure is not None:
        less = float(1 - plan.pressure / plan.current_pressure)
        before = f"its pressure is {float(plan.current_pressure):.6g}; this takes {less:.1%} off it".replace("%", " %")
    moved = [move for move in plan.moves if move.source is not None]
    going = f"{_models(plan, moved)} move{'s' * (len(moved) == 1)}" if moved else "nothing moves"
    yield "current", f"{before}; {going}"
    if len(moved) < len(plan.moves):
        yield "new", f"{_models(plan, [move for move in plan.moves if move.source is None])} on no GPU yet"


def _models(plan: PlacementPlan, moved: Sequence[Relocation]) -> str:
    gb = sum(plan.cluster.models[move.model].size for move in moved)
    return f"{counted(len(moved), 'model')} of {float(gb):.6g} GB"


def _of_solver(plan: PlacementPlan, solver: Solved) -> str:
    said = f"{float(solver.pressure):.6g} in the same time"
    if solver.proven:
        said += ", proven: nothing is better"
    if solver.pressure < plan.pressure:
        better = float(1 - solver.pressure / plan.pressure)
        less = f"{better:.4%} less than {plan.program}".replace("%", " %")
        return f"{said}; that is {less} (its placement: --json)"
    if solver.pressure > plan.pressure:
        return f"{said}; {plan.program} found less"
    return f"{said}, as {plan.program} did"


def _more(left: int, what: str) -> str:
    return f"and {left} {what} (--json has all)" if left > 0 else ""
