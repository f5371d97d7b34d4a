"""What has to move from one placement to another, when it does not matter which GPU is called what."""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.placing.cluster import Cluster
from evolve.placing.instance import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """A model that changes its GPU; `source` None: it is on none yet."""

    model: int
    source: int | None
    target: int


def renumbered(cluster: Cluster, placement: Placement, current: Sequence[int | None]) -> Placement:
    """The same placement with its groups on those GPUs that hold most of their memory already: the largest overlaps
    first, so that few GB move. GPUs are alike, so nothing else changes."""
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
    """Every model that is not where it is to be, in the cluster's order."""
    return [
        Relocation(model=model, source=source, target=target)
        for model, (target, source) in enumerate(zip(placement, current, strict=True))
        if source != target
    ]
