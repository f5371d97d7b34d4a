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
    """The `most` GPUs of highest pressure, by number, and a note about the rest."""
    rows = sorted(placement_json(plan.cluster, plan.placement), key=lambda row: (-row["pressure"], row["gpu"]))
    largest = float(plan.pressure)
    table = TableOf(sorted(rows[:most], key=lambda row: row["gpu"]))
    for title, key in (("GPU", "gpu"), ("pressure", "pressure"), ("used GB", "used_gb"), ("free GB", "free_gb")):
        table.column(title, partial(_figure, key, largest), number=True)
    table.column("models", lambda row: ", ".join(row["models"]), fit=Fit.FOLD)
    return table.table(), _more(len(rows) - most, "more GPUs with less pressure")


def _figure(key: str, largest: float, row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row[key]:.6g}", Tone.STRONG if row["pressure"] == largest else Tone.PLAIN)


def moves_table(plan: PlacementPlan, *, most: int) -> tuple[Table, str]:
    """The moves, the largest first, and a note about those left out."""
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
    best = min((attempt.pressure for attempt in tried if attempt.pressure is not None), default=None)

    def pressure(attempt: Reached) -> Cell:
        shown = "" if attempt.pressure is None else f"{float(attempt.pressure):.6g}"
        return Cell(shown, Tone.STRONG if attempt.pressure == best else Tone.PLAIN)

    table = TableOf(tried)
    table.column("program", lambda attempt: attempt.name)
    table.column("pressure", pressure, number=True)
    table.column("s", lambda attempt: f"{attempt.seconds:.2f}" if attempt.seconds else "", number=True)
    table.column("", lambda attempt: Cell(attempt.detail, Tone.QUIET if attempt.cut_off else Tone.BAD), fit=Fit.FOLD)
    return table.table()


def fields(plan: PlacementPlan, solver: Solved | str) -> Iterator[tuple[str, str]]:
    """The bound, the exact solver, and the current placement, each in a sentence."""
    how = "optimal" if plan.pressure == plan.bound else f"{100 * plan.gap:.4g} % above it"
    yield "lower bound", f"{float(plan.bound):.6g} (proven); this placement is {how}"
    yield "exact solver", solver if isinstance(solver, str) else _of_solver(plan, solver)
    if plan.moves is None:
        return
    if plan.program == CURRENT:
        yield "current", "no program found a better placement: nothing moves"
        return
    before = plan.why_current_not
    if plan.current_pressure is not None:
        less = float(1 - plan.pressure / plan.current_pressure)
        before = f"now: {float(plan.current_pressure):.6g}; new: {100 * less:.1f} % lower"
    moved = [move for move in plan.moves if move.source is not None]
    moving = f"{_models(plan, moved)} {'has' if len(moved) == 1 else 'have'} to move" if moved else "nothing moves"
    yield "current", f"{before}; {moving}"
    if len(moved) < len(plan.moves):
        yield "new", f"{_models(plan, [move for move in plan.moves if move.source is None])} on no GPU yet"


def _models(plan: PlacementPlan, moved: Sequence[Relocation]) -> str:
    gb = sum(plan.cluster.models[move.model].size for move in moved)
    return f"{counted(len(moved), 'model')} ({float(gb):.6g} GB)"


def _of_solver(plan: PlacementPlan, solver: Solved) -> str:
    sentence = f"{float(solver.pressure):.6g} in the same time"
    if solver.proven:
        sentence += ", proven optimal"
    if solver.pressure < plan.pressure:
        better = float(1 - solver.pressure / plan.pressure)
        less = f"{better:.4%} less than {plan.program}".replace("%", " %")
        return f"{sentence}; {less} (its placement: --json)"
    if solver.pressure > plan.pressure:
        return f"{sentence}; {plan.program} is lower, so better"
    return f"{sentence}, the same as {plan.program}"


def _more(left: int, noun: str) -> str:
    return f"and {left} {noun} (--json has all)" if left > 0 else ""
