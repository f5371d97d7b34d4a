"""Simulated annealing of all GPUs at once: the pressures are smoothed to a sum of powers, and moves and swaps drawn.

Idea: the largest pressure alone gives annealing nothing to feel, as most changes do not touch it. A sum of powers of
pressure by its even value is nearly the largest one and hears of every GPU. A random model moves to another GPU, or
changes places with one there; worse sums are taken with the chance exp(-rise / temperature), which cools by a constant
factor. Memory that is too full costs the more the fuller it is. The best placement by largest pressure is remembered.
Cost: STEPS * 2 microseconds: two GPUs are looked at in a step, whatever their number.
Origin: earlier runs, where annealing "failed" by calling a function that was not there; Kirkpatrick et al. 1983.
"""

import math
import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
STEPS = 150_000
STEPS_PER_MODEL = 1_200  # where that is more
POWER = 12
HOT, COLD = 0.5, 0.002  # temperatures: sums of powers, where a GPU of even pressure counts 1
SWAPS = 0.75  # the share of the steps that change two models


def cost(size, load, even):
    """What a GPU adds to the sum."""
    free = GPU_MEM_SIZE - size
    if free <= 0:
        return 100.0 * (2 - free)
    ratio = load / (free * even)
    return ratio**POWER if ratio < 1.4 else 57.0 + 40 * (1 - 1.4 / ratio)  # bounded, so that it can be left again


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement that annealing came by."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    even = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    even = max([even] + [load / (GPU_MEM_SIZE - size) for load, size in zip(loads, sizes)])
    where, used, load = [0] * len(models), [0] * gpu_num, [0.0] * gpu_num
    for i in sorted(range(len(models)), key=lambda i: -loads[i] - even * sizes[i]):
        gpu = min(range(gpu_num), key=lambda g: load[g] + even * used[g])
        where[i] = gpu
        used[gpu] += sizes[i]
        load[gpu] += loads[i]
    costs = [cost(size, total, even) for size, total in zip(used, load)]
    best, reached = where[:], float("inf")
    steps = max(STEPS, STEPS_PER_MODEL * len(models))
    temperature, cooling = HOT, (COLD / HOT) ** (1 / steps)
    count, draw, exp = len(models), rng.random, math.exp
    for _ in range(steps):
        temperature *= cooling
        i = int(draw() * count)
        source, size, share = where[i], sizes[i], loads[i]
        if draw() < SWAPS:
            j = int(draw() * count)
            target = where[j]
            size, share = size - sizes[j], share - loads[j]
        else:
            j, target = -1, int(draw() * gpu_num)
        if source == target:
            continue
        less = cost(used[source] - size, load[source] - share, even)
        more = cost(used[target] + size, load[target] + share, even)
        rise = less + more - costs[source] - costs[target]
        if rise > 0 and draw() >= exp(-rise / temperature):
            continue
        used[source] -= size
        used[target] += size
        load[source] -= share
        load[target] += share
        high = max(costs[source], costs[target])
        costs[source], costs[target], where[i] = less, more, target
        if j >= 0:
            where[j] = source
        if max(less, more) < high and (peak := max(costs)) < reached - 1e-9:
            best, reached = where[:], peak
    placement = {gpu: [] for gpu in range(gpu_num)}
    for i, gpu in enumerate(best):
        placement[gpu].append(models[i])
    return placement
# EVOLVE-BLOCK-END
