"""The plan for a cluster: a placement, the pressure of every GPU, the gap to a proven bound, the moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from evaluator import Infeasible, InvalidAnswer
from evaluator.errors import EvaluatorError, SandboxError
from evaluator.tasks.placement.interface import GPU_MEM_SIZE, counted_bound, fluid_bound, picture, placed, solver_module
from evolve.apps.placing.cluster import Cluster
from evolve.apps.placing.instance import Placement, as_answer, as_placement, cost_of, exact_instance
from evolve.apps.placing.trying import Reached

CURRENT: Final = "the current placement"
SOLVER: Final = "the exact solver's placement"
_COUNTED: Final = 2_000
"""The most models for a bound by counting, which would take minutes for more; beyond it, the bound uses sums only."""
MOST_SOLVED: Final = 120
"""The most models for an exact solver, which finds nothing in useful time for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The result of an exact solver in the same time; `proven`: it is optimal."""

    pressure: Fraction
    placement: Placement
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """A model that changes its GPU; `source` is None if it is on none yet."""

    model: int
    source: int | None
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPlan:
    """The best placement found in time: its program, its pressure, a proven lower bound, and the moves from the current
    placement. `why_current_not` says why the current one is invalid."""

    cluster: Cluster
    program: str
    placement: Placement
    pressure: Fraction
    bound: Fraction
    tried: Sequence[Reached]
    moves: Sequence[Relocation] | None
    current_pressure: Fraction | None
    why_current_not: str

    @property
    def by_no_program(self) -> bool:
        """Whether no program found a placement, so this is the current one or the solver's."""
        return all(attempt.placement is None for attempt in self.tried)

    @property
    def gap(self) -> float:
        """The relative distance of the pressure from the bound."""
        return float(self.pressure / self.bound - 1) if self.bound else 0.0


def best_plan(cluster: Cluster, tried: Sequence[Reached], solver: Solved | str) -> PlacementPlan | None:
    """The plan with the best placement tried, ties to the first, or with the current placement if none is better; else
    with the solver's. None without any placement."""
    placements = [
        (attempt.pressure, attempt.name, attempt.placement)
        for attempt in tried
        if attempt.pressure is not None and attempt.placement is not None
    ]
    standing, why_not = _standing(cluster)
    if standing is not None and cluster.current is not None:
        placements.insert(0, (standing, CURRENT, tuple(gpu for gpu in cluster.current if gpu is not None)))
    if not placements and isinstance(solver, Solved):
        placements = [(solver.pressure, SOLVER, solver.placement)]
    if not placements:
        return None
    pressure, name, placement = min(placements, key=lambda attempt: attempt[0])
    if cluster.current is not None:
        placement = renumbered(cluster, placement, cluster.current)
    data = exact_instance(cluster)
    return PlacementPlan(
        cluster=cluster,
        program=name,
        placement=placement,
        pressure=pressure,
        bound=counted_bound(data, pressure) if len(cluster.models) <= _COUNTED else fluid_bound(data),
        tried=tried,
        moves=None if cluster.current is None else moves(placement, cluster.current),
        current_pressure=standing,
        why_current_not=why_not,
    )


def solved(cluster: Cluster, *, seconds: float) -> Solved | str:
    """The result of an exact solver in about `seconds`; without one, the reason in words."""
    if len(cluster.models) > MOST_SOLVED:
        return f"not run: beyond {MOST_SOLVED} models it finds nothing in useful time"
    try:
        solver_module()
    except SandboxError:
        return "not installed (pip install 'evolve[bounds]')"
    try:
        solution = placed(exact_instance(cluster), seconds=seconds)
    except EvaluatorError as none_found:
        return f"found nothing: {none_found}"
    placement = as_placement(len(cluster.models), solution.answer)
    return Solved(pressure=solution.cost, placement=placement, proven=solution.proven)


def renumbered(cluster: Cluster, placement: Placement, current: Sequence[int | None]) -> Placement:
    """The same placement, renumbered so that few GB move: each group goes to the GPU with the largest overlap in
    memory, the largest overlaps first. GPUs are identical, so nothing else changes."""
    overlap: dict[tuple[int, int], float] = {}
    for model, (group, gpu) in enumerate(zip(placement, current, strict=True)):
        if gpu is not None:
            overlap[group, gpu] = overlap.get((group, gpu), 0.0) + float(cluster.models[model].size)
    name: dict[int, int] = {}
    taken: set[int] = set()
    for group, gpu in sorted(overlap, key=lambda pair: (-overlap[pair], pair)):
        if group not in name and gpu not in taken:
            name[group] = gpu
            taken.add(gpu)
    left = (gpu for gpu in range(cluster.gpus) if gpu not in taken)
    for group in range(cluster.gpus):
        if group not in name:
            name[group] = next(left)
    return tuple(name[group] for group in placement)


def moves(placement: Placement, current: Sequence[int | None]) -> list[Relocation]:
    """Every model that has to move, in the cluster's order."""
    return [
        Relocation(model=model, source=source, target=target)
        for model, (target, source) in enumerate(zip(placement, current, strict=True))
        if source != target
    ]


def pressures(cluster: Cluster, placement: Placement) -> list[tuple[Fraction, Fraction, Fraction]]:
    """GB in use, load and pressure of each GPU."""
    used, load = [Fraction(0)] * cluster.gpus, [Fraction(0)] * cluster.gpus
    for model, gpu in zip(cluster.models, placement, strict=True):
        used[gpu] += model.size
        load[gpu] += model.load
    return [(used[gpu], load[gpu], load[gpu] / (cluster.memory - used[gpu])) for gpu in range(cluster.gpus)]


def to_json(plan: PlacementPlan, solver: Solved | str) -> dict[str, Any]:
    """The keys of `evolve place --json`."""
    cluster = plan.cluster
    return {
        "gpus": cluster.gpus,
        "memory_gb": float(cluster.memory),
        "models": len(cluster.models),
        "program": plan.program,
        "pressure": float(plan.pressure),
        "bound": float(plan.bound),
        "gap": plan.gap,
        "placement": placement_json(cluster, plan.placement),
        "tried": [reached_json(attempt) for attempt in plan.tried],
        "exact": {
            "pressure": float(solver.pressure),
            "proven": solver.proven,
            "detail": "",
            "placement": placement_json(cluster, solver.placement),
        }
        if isinstance(solver, Solved)
        else {"pressure": None, "proven": False, "detail": solver, "placement": None},
        "current": None
        if cluster.current is None
        else {
            "pressure": None if plan.current_pressure is None else float(plan.current_pressure),
            "detail": plan.why_current_not,
        },
        "moves": None if plan.moves is None else [_move_json(cluster, move) for move in plan.moves],
    }


def placement_json(cluster: Cluster, placement: Placement) -> list[dict[str, Any]]:
    """The models of each GPU, with its memory, load and pressure."""
    names: list[list[str]] = [[] for _ in range(cluster.gpus)]
    for model, gpu in zip(cluster.models, placement, strict=True):
        names[gpu].append(model.name)
    return [
        {
            "gpu": gpu,
            "models": names[gpu],
            "used_gb": float(used),
            "free_gb": float(cluster.memory - used),
            "load": float(load),
            "pressure": float(pressure),
        }
        for gpu, (used, load, pressure) in enumerate(pressures(cluster, placement))
    ]


def reached_json(attempt: Reached) -> dict[str, Any]:
    """The result of a program under `tried`."""
    return {
        "program": attempt.name,
        "pressure": None if attempt.pressure is None else float(attempt.pressure),
        "seconds": round(attempt.seconds, 3),
        "cut_off": attempt.cut_off,
        "detail": attempt.detail,
    }


def _move_json(cluster: Cluster, move: Relocation) -> dict[str, Any]:
    model = cluster.models[move.model]
    return {"model": model.name, "size_gb": float(model.size), "from": move.source, "to": move.target}


def _standing(cluster: Cluster) -> tuple[Fraction | None, str]:
    """The pressure of the current placement, or why it is invalid."""
    if cluster.current is None:
        return None, ""
    if left := sum(gpu is None for gpu in cluster.current):
        return None, f"{left} of {len(cluster.models)} models are on no GPU yet"
    try:
        return cost_of(cluster, cluster.current), ""
    except (InvalidAnswer, Infeasible):
        return None, "the models on a GPU take all of its memory, or more"


def svg(plan: PlacementPlan) -> str:
    """A picture of the placement: the memory of every GPU, stacked by model, and its pressure."""

    data = exact_instance(plan.cluster)
    data["models"] = [[float(size), rate, slo] for size, rate, slo in data["models"]]  # a picture needs no more
    drawn = picture(data, as_answer(plan.cluster.gpus, plan.placement))
    # The task's GPUs have 80 GB; the picture shows shares of a GPU, so only its label has to change.
    drawn = drawn.replace(f"of {GPU_MEM_SIZE} GB:", f"of {float(plan.cluster.memory):g} GB:")
    return drawn.replace(">1 GPUs of", ">1 GPU of")
