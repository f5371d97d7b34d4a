"""Greedy by resulting pressure, from many random orders at once.

Idea: a single greedy pass is good or bad by the order of the models, and no order is good everywhere. A start orders them
by a random mixture of size and load (both ends are among them), with noise; each model goes to the GPU whose resulting
pressure is smallest, where it has no room to the one with most free memory. All starts take their steps together, as
rows of one array. The best start is kept; what stands too full in it is mended by random swaps that never fill more.
Cost: models * starts * GPUs elementary steps, in numpy; about 10 ms for 10 GPUs and 0.2 s for 250.
Origin: the greedy programs of earlier runs (by size, by load, by resulting pressure), and their "randomised multi-start".
"""

import random

import numpy as np

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
CELLS = 60_000  # starts * GPUs, about: fewer starts for more GPUs
NOISE = 0.25  # of a model's key, as a share of it
MENDING_STEPS = 60_000  # random swaps and moves before a memory that stays too full is given up


def filled_greedily(orders, gpu_num, sizes, loads):
    """For each order (a row): the GPU of every model, and the largest pressure (infinite where a memory is full)."""
    starts = len(orders)
    rows = np.arange(starts)
    free = np.full((starts, gpu_num), float(GPU_MEM_SIZE))
    load = np.zeros((starts, gpu_num))
    where = np.zeros(orders.shape, dtype=int)
    for place in range(orders.shape[1]):
        model = orders[:, place]
        room = free - sizes[model, None]
        result = (load + loads[model, None]) / np.maximum(room, 1.0)
        gpu = np.where(room > 0, result, 1e9 - room).argmin(axis=1)
        free[rows, gpu] -= sizes[model]
        load[rows, gpu] += loads[model]
        where[rows, model] = gpu
    pressure = np.where(free > 0, load / np.maximum(free, 1.0), np.inf).max(axis=1)
    return where, pressure, np.maximum(1 - free, 0).sum(axis=1)


def mended(where, gpu_num, sizes, rng):
    """The placement with random moves and swaps until no memory is full; none that fills more in sum is made."""
    where = list(where)
    over = [1 - GPU_MEM_SIZE] * gpu_num  # GB too much, negative where there is room
    for i, gpu in enumerate(where):
        over[gpu] += sizes[i]
    for _ in range(MENDING_STEPS):
        if max(over) <= 0:
            break
        i, j = rng.randrange(len(sizes)), rng.randrange(len(sizes))
        a, b = where[i], where[j]
        if a == b:
            continue
        more = sizes[i] if rng.random() < 0.2 else sizes[i] - sizes[j]  # a move, or a swap
        if max(over[a] - more, 0) + max(over[b] + more, 0) <= max(over[a], 0) + max(over[b], 0):
            over[a], over[b], where[i] = over[a] - more, over[b] + more, b
            if more != sizes[i]:
                where[j] = a
    return where


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best of many greedy placements."""
    draw = np.random.default_rng(1)
    sizes = np.array([model.model_size for model in models])
    loads = np.array([model.req_rate / model.slo for model in models])
    starts = max(8, CELLS // gpu_num)
    mixture = draw.random((starts, 1))
    mixture[:2] = [[0.0], [1.0]]
    keys = mixture * sizes / sizes.mean() + (1 - mixture) * loads / loads.mean()
    noise = NOISE * draw.random((starts, 1)) * draw.standard_normal(keys.shape)
    noise[:2] = 0.0
    orders = np.argsort(-keys * (1 + noise), axis=1, kind="stable")
    where, pressure, overflow = filled_greedily(orders, gpu_num, sizes, loads)
    best = int(np.lexsort((pressure, overflow))[0])
    chosen = where[best].tolist()
    if overflow[best] > 0:
        chosen = mended(chosen, gpu_num, sizes.tolist(), random.Random(1))
    placement = {gpu: [] for gpu in range(gpu_num)}
    for i, gpu in enumerate(chosen):
        placement[gpu].append(models[i])
    return placement
# EVOLVE-BLOCK-END
