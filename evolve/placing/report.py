"""A placement in words and tables."""

from collections.abc import Iterator, Sequence

from evolve.placing.instance import description
from evolve.placing.plan import CURRENT, PlacementPlan, Relocation, Solved, pressures
from evolve.placing.trying import Reached
from evolve.review.table import Cell, Column, Fit, Table, Tone


def heading(plan: PlacementPlan) -> str:
    """`16 GPUs of 80 GB, 60 models: largest pressure 0.0213`."""
    return f"{description(plan.cluster)}: largest pressure {float(plan.pressure):.6g}, by {plan.program}"


def gpu_table(plan: PlacementPlan, *, most: int) -> tuple[Table, str]:
    """The GPUs, the most pressed first, and what is said of those that are left out."""
    cluster = plan.cluster
    held: list[list[str]] = [[] for _ in range(cluster.gpus)]
    for model, gpu in zip(cluster.models, plan.placement, strict=True):
        held[gpu].append(model.name)
    every = pressures(cluster, plan.placement)
    order = sorted(range(cluster.gpus), key=lambda gpu: (-every[gpu][2], gpu))
    columns = (
        Column("GPU", number=True),
        Column("pressure", number=True),
        Column("used GB", number=True),
        Column("free GB", number=True),
        Column("models", fit=Fit.FOLD),
    )
    rows = []
    for gpu in order[:most]:
        used, _, pressure = every[gpu]
        tone = Tone.STRONG if pressure == plan.pressure else Tone.PLAIN
        texts = (f"{float(pressure):.6g}", f"{float(used):.6g}", f"{float(cluster.memory - used):.6g}")
        rows.append((Cell(str(gpu), tone), *(Cell(text, tone) for text in texts), Cell(", ".join(held[gpu]))))
    left = len(order) - len(rows)
    return Table(columns=columns, rows=tuple(rows)), _more(left, "more GPUs")


def moves_table(plan: PlacementPlan, *, most: int) -> tuple[Table, str]:
    """What moves, the largest first, and what is said of the moves that are left out."""
    models = plan.cluster.models
    order = sorted(plan.moves or (), key=lambda move: (-models[move.model].size, move.model))
    columns = (Column("model"), Column("GB", number=True), Column("from GPU", number=True), Column("to", number=True))
    rows = tuple(
        (
            Cell(models[move.model].name),
            Cell(f"{float(models[move.model].size):.6g}"),
            Cell("none" if move.source is None else str(move.source)),
            Cell(str(move.target)),
        )
        for move in order[:most]
    )
    return Table(columns=columns, rows=rows), _more(len(order) - len(rows), "more moves")


def tried_table(tried: Sequence[Reached]) -> Table:
    """The programs in the order in which they were tried."""
    columns = (Column("program"), Column("pressure", number=True), Column("s", number=True), Column("", fit=Fit.FOLD))
    best = min((one.pressure for one in tried if one.pressure is not None), default=None)
    rows = []
    for one in tried:
        shown = "" if one.pressure is None else f"{float(one.pressure):.6g}"
        tone = Tone.STRONG if one.pressure is not None and one.pressure == best else Tone.PLAIN
        took = f"{one.seconds:.2f}" if one.seconds else ""
        why = Tone.QUIET if one.cut_off else Tone.BAD
        rows.append((Cell(one.name), Cell(shown, tone), Cell(took), Cell(one.detail, why)))
    return Table(columns=columns, rows=tuple(rows))


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
    yield "current", f"{before}; {_models(plan, moved)} move{'s' * (len(moved) == 1)}"
    if len(moved) < len(plan.moves):
        yield "new", f"{_models(plan, [move for move in plan.moves if move.source is None])} on no GPU yet"


def _models(plan: PlacementPlan, moved: Sequence[Relocation]) -> str:
    gb = sum(plan.cluster.models[move.model].size for move in moved)
    return f"{len(moved)} model{'s' * (len(moved) != 1)} of {float(gb):.6g} GB"


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
    return f"and {left} {what}" if left else ""
