"""Pairs of GPUs packed anew, exactly, under a falling limit on the pressure.

Idea: for a fixed pressure K a model weighs load + K * size and a GPU holds less than 80 * K: what is left is bin
packing, and a memory that is exceeded is a weight that is exceeded. While some GPU is too heavy, it and another GPU are
emptied and their models dealt out again, so that as little as can be is too much. All 2 ** n ways of dealing n models to
two GPUs are weighed, so moves and swaps of any number of models are among them. Chance decides among the best ways, now and
then among the almost best; and every other step takes any GPU instead of one that is too heavy: both walk over plateaus.
The limit is halved towards the bound of an even spread; at last it is always just below the best placement found.
Cost: a step is 2 ** n sums (n about 8; of a larger pair 12 models change places), done by numpy; steps are counted.
Origin: the repair behind the best known placements of the suite `fleet`; Newton's method for fractions (Dinkelbach).
"""

import random

import numpy as np

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
DEALT = 12  # of two GPUs at most so many models are dealt out again
SLACK = 1.0  # of the limit, divided by the square of the number of GPUs: a way may be worse by so much ...
CARELESS = 0.1  # ... in this share of the steps
STEPS_PER_GPU = 80  # a search for a placement below one limit gives up after so many steps for each GPU ...
STEPS = 6000  # ... and after so many in all
NEAR = 2e-4  # so near to the bound, relative to it, the last tries are not worth their time
HALVINGS = 10  # of the distance between the best pressure and the bound
LAST_TRIES = 8  # so many searches in a row may fail to improve on the best placement


def worst_pressure(groups, sizes, loads):
    """The largest pressure of a GPU, infinite when a memory is full."""
    worst = 0.0
    for group in groups:
        free = GPU_MEM_SIZE - sum(sizes[i] for i in group)
        if free <= 0:
            return float("inf")
        worst = max(worst, sum(loads[i] for i in group) / free)
    return worst


def lightest_first(weights, gpu_num):
    """Groups by falling weight, each model to the group that is lightest so far."""
    groups, totals = [[] for _ in range(gpu_num)], [0.0] * gpu_num
    for i in sorted(range(len(weights)), key=lambda i: -weights[i]):
        gpu = min(range(gpu_num), key=totals.__getitem__)
        groups[gpu].append(i)
        totals[gpu] += weights[i]
    return groups


def dealt_anew(first, second, weights, limit, slack, rng):
    """The models of two GPUs, dealt out in one of the ways whose weight above the limit is least, up to the slack."""
    both = first + second
    rng.shuffle(both)
    free, fixed = both[:DEALT], set(both[DEALT:])
    left = [i for i in first if i in fixed]
    right = [i for i in second if i in fixed]
    sums = np.array([sum(weights[i] for i in left)])
    for i in free:
        sums = np.concatenate((sums, sums + weights[i]))
    total = sum(weights[i] for i in both)
    excess = np.maximum(sums - limit, 0.0) + np.maximum(total - limit - sums, 0.0)
    ways = np.flatnonzero(excess <= excess.min() + slack)
    way = int(ways[rng.randrange(len(ways))])
    for place, i in enumerate(free):
        (left if way >> place & 1 else right).append(i)
    return left, right


def packed_below(groups, pressure, sizes, loads, rng):
    """The groups with pairs dealt anew until all are below the pressure, or None when the steps are used up."""
    weights = [load + pressure * size for load, size in zip(loads, sizes)]
    limit = GPU_MEM_SIZE * pressure * (1 - 1e-9)
    groups = [list(group) for group in groups]
    totals = [sum(weights[i] for i in group) for group in groups]
    for _ in range(min(STEPS, STEPS_PER_GPU * len(groups))):
        heavy = [gpu for gpu, total in enumerate(totals) if total > limit]
        if not heavy:
            return groups
        one = rng.choice(heavy) if rng.random() < 0.5 else rng.randrange(len(groups))
        other = rng.randrange(len(groups))
        if one == other:
            continue
        slack = limit * (SLACK / len(groups) ** 2 if rng.random() < CARELESS else 1e-12)
        groups[one], groups[other] = dealt_anew(groups[one], groups[other], weights, limit, slack, rng)
        for gpu in (one, other):
            totals[gpu] = sum(weights[i] for i in groups[gpu])
    return None


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement of a falling limit."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    bound = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    bound = max([bound] + [load / (GPU_MEM_SIZE - size) for load, size in zip(loads, sizes)])
    best = lightest_first([load + bound * size for load, size in zip(loads, sizes)], gpu_num)
    reached, low = worst_pressure(best, sizes, loads), bound
    failures = halvings = 0
    for _ in range(1000):
        if reached <= bound * (1 + 1e-9) or halvings == HALVINGS and reached <= bound * (1 + NEAR):
            break
        if reached == float("inf"):
            aim = low = 1.5 * low
        elif halvings < HALVINGS:
            aim, halvings = (low + reached) / 2, halvings + 1
        else:
            aim = reached
        found = packed_below(best, aim, sizes, loads, rng)
        if found is not None:
            best, reached, failures = found, worst_pressure(found, sizes, loads), 0
        elif aim < reached < float("inf"):
            low = aim
        elif failures == LAST_TRIES:
            break
        else:
            failures += 1
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
