"""Simulated annealing of all GPUs at once, by a smooth stand-in for the largest pressure that grows sharper.

Idea: the largest pressure alone gives annealing nothing to feel, as most changes do not touch it. A sum over the GPUs of
exp(sharpness * (pressure / best - 1)) hears of every GPU, and is the nearer to the largest one the sharper it is. A
random model moves to another GPU, or changes places with one there; a worse sum is taken with the chance
exp(-rise / temperature). The temperature stays, the sharpness grows from stage to stage: that is the cooling, as what is
one unit of the sum becomes a smaller and smaller difference of pressure. Memory that is too full costs a lot, in steps.
Cost: STEPS * 2 microseconds: two GPUs are looked at in a step, whatever their number.
Origin: Kirkpatrick et al. 1983; in earlier runs annealing was written, but failed by a function that was not there.
"""

import math
import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
STEPS = 150_000
STEPS_PER_MODEL = 600  # where that is more
STAGES = 40
SHARPNESS = (10.0, 800.0)  # at the first and at the last stage
TEMPERATURE = 0.2
SWAPS = 0.75  # the share of the steps that change two models


def cost(size, load, best, sharpness):
    """What a GPU adds to the sum: 1 at the best pressure so far; bounded, so that a bad state can be left again."""
    free = GPU_MEM_SIZE - size
    if free <= 0:
        return 50.0 * (2 - free)
    above = sharpness * (load / (free * best) - 1)
    return math.exp(above) if above < 3 else min(17 + above, 45.0)


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
    best, reached = where[:], float("inf")
    steps = max(STEPS, STEPS_PER_MODEL * len(models)) // STAGES
    count, draw, exp = len(models), rng.random, math.exp
    for stage in range(STAGES):
        sharpness = SHARPNESS[0] * (SHARPNESS[1] / SHARPNESS[0]) ** (stage / (STAGES - 1))
        aim = min(reached, even * 1.3)
        costs = [cost(size, total, aim, sharpness) for size, total in zip(used, load)]
        for _ in range(steps):
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
            less = cost(used[source] - size, load[source] - share, aim, sharpness)
            more = cost(used[target] + size, load[target] + share, aim, sharpness)
            rise = less + more - costs[source] - costs[target]
            if rise > 0 and draw() >= exp(-rise / TEMPERATURE):
                continue
            used[source] -= size
            used[target] += size
            load[source] -= share
            load[target] += share
            high = max(costs[source], costs[target])
            costs[source], costs[target], where[i] = less, more, target
            if j >= 0:
                where[j] = source
            if max(less, more) < high and max(used) < GPU_MEM_SIZE:
                peak = max([total / (GPU_MEM_SIZE - size) for size, total in zip(used, load)])
                if peak < reached * (1 - 1e-9):
                    best, reached = where[:], peak
    placement = {gpu: [] for gpu in range(gpu_num)}
    for i, gpu in enumerate(best):
        placement[gpu].append(models[i])
    return placement
# EVOLVE-BLOCK-END
