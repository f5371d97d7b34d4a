"""Steepest descent on the bottleneck: the GPU of the largest pressure gives and takes up to two models.

Idea: only the most pressed GPU decides the cost. Everything of at most two models that it could give (nothing, one, two)
is weighed against everything that another GPU could give back: moves, 1-1, 1-2, 2-1 and 2-2 swaps in one array. The
exchange is made whose new largest pressure is smallest; as another GPU often is second, many tie, and the variance
decides (the smallest sum of squared pressures). A full memory counts as a huge pressure, so the same descent repairs it.
It ends where no exchange helps: deterministic, a single descent.
Cost: an array of 7 * 7 for two GPUs of 3 models (37 * 37 for 8); a few hundred descents steps for 10 GPUs.
Origin: the move and swap refinements of earlier runs; they recommended steepest descent, 2-2 swaps and variance ties.
"""

from itertools import combinations

import numpy as np

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
GIVEN = 2  # models that the bottleneck gives, at most
TAKEN = 2  # models that it takes, at most
TWO_TWO = True  # two for two as well
STEEPEST = True  # the best exchange, or else the first that helps
TIES = "variance"  # or "peak" (the smallest pressure of the two GPUs), or "none" (the first)
PARTNERS = 24  # so many GPUs, the least pressed, are asked
STEPS_PER_GPU = 60
STEPS = 2_500  # at most, however many GPUs there are
FULL = 1e3  # the pressure of a GPU, for each GB that it has too much


def pressure(size, load):
    """Load by free memory; of memories that are too full, what is too much counts a thousand."""
    free = GPU_MEM_SIZE - size
    return load / np.maximum(free, 1.0) + FULL * np.maximum(1.0 - free, 0.0)


def bundles(group, sizes, loads, most):
    """All that a GPU can give, up to so many models: the tuples, their sizes and their loads."""
    found = [bundle for count in range(most + 1) for bundle in combinations(group, count)]
    size = np.array([sum(sizes[i] for i in bundle) for bundle in found], dtype=float)
    return found, size, np.array([sum(loads[i] for i in bundle) for bundle in found])


def better_exchange(worst, others, groups, used, load, now, sizes, loads):
    """(what the worst gives, the other GPU, what that gives), or None when nothing lowers the peak of the two."""
    given, give_size, give_load = bundles(groups[worst], sizes, loads, GIVEN)
    offers = [bundles(groups[gpu], sizes, loads, TAKEN) for gpu in others]
    owner = np.repeat(others, [len(found) for found, _, _ in offers])
    more_size = np.concatenate([size for _, size, _ in offers]) - give_size[:, None]
    more_load = np.concatenate([load for _, _, load in offers]) - give_load[:, None]
    mine = pressure(used[worst] + more_size, load[worst] + more_load)
    theirs = pressure(used[owner] - more_size, load[owner] - more_load)
    peak = np.maximum(mine, theirs)
    if not TWO_TWO:
        taken = np.array([len(bundle) for found, _, _ in offers for bundle in found])
        peak[np.ix_([len(bundle) == 2 for bundle in given], taken == 2)] = np.inf
    helps = peak < now[worst] * (1 - 1e-9)
    if not helps.any():
        return None
    if STEEPEST:
        second = np.partition(now, -2)[-2]
        if TIES == "peak":
            choice = int(peak.argmin())
        else:
            result = np.maximum(peak, min(second, now[worst]))
            ties = helps & (result <= result[helps].min() * (1 + 1e-12))
            squares = mine**2 + theirs**2 - now[owner] ** 2 if TIES == "variance" else np.zeros_like(peak)
            choice = int(np.where(ties, squares, np.inf).argmin())
    else:
        choice = int(helps.argmax())
    row, column = divmod(choice, peak.shape[1])
    flat = [bundle for found, _, _ in offers for bundle in found]
    return given[row], int(owner[column]), flat[column]


def descended(groups, sizes, loads):
    """The groups after exchanges of the worst GPU, until none helps."""
    used = np.array([sum(sizes[i] for i in group) for group in groups], dtype=float)
    load = np.array([sum(loads[i] for i in group) for group in groups])
    for _ in range(min(STEPS, STEPS_PER_GPU * len(groups))):
        now = pressure(used, load)
        worst = int(now.argmax())
        others = [gpu for gpu in np.argsort(now, kind="stable").tolist() if gpu != worst][:PARTNERS]
        if not others:
            break
        found = better_exchange(worst, others, groups, used, load, now, sizes, loads)
        if found is None:
            break
        gives, other, takes = found
        groups[worst] = [i for i in groups[worst] if i not in gives] + list(takes)
        groups[other] = [i for i in groups[other] if i not in takes] + list(gives)
        for gpu in (worst, other):
            used[gpu] = sum(sizes[i] for i in groups[gpu])
            load[gpu] = sum(loads[i] for i in groups[gpu])
    return groups


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the descent from the heaviest first, each on the lightest GPU."""
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    even = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    weight = [load + even * size for load, size in zip(loads, sizes)]
    groups, totals = [[] for _ in range(gpu_num)], [0.0] * gpu_num
    for i in sorted(range(len(models)), key=lambda i: -weight[i]):
        gpu = totals.index(min(totals))
        groups[gpu].append(i)
        totals[gpu] += weight[i]
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(descended(groups, sizes, loads))}
# EVOLVE-BLOCK-END
