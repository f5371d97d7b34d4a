"""Binary search on the pressure; below each limit first fit and best fit, by several keys, and squeaky wheels.

Idea: for a fixed pressure K a model weighs load + K * size and a GPU holds 80 * K, so a placement below K is a packing.
Every key (weight, size, load, density) and both ways to fit are tried at each limit. Where all fail, a model that found
no room squeaks: it goes further to the front, and the models are packed again; a few rounds of that repair what no sorted
order packs. The search halves the interval between the even spread and the best pressure that a packing had.
Cost: limits * (keys * fits + rounds) packings of models * GPUs steps, pure Python, ends by counts.
Origin: the binary searches of earlier runs, with best fit and density keys as they recommended; squeaky wheel
optimisation (Joslin and Clements 1999).
"""

import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
KEYS = ("weight", "size", "load", "density")
FITS = ("first", "best")
WHEELS = 30  # packings in a row, each with the models moved forward that found no room before
WHEEL_WORK = 60_000  # ... but no more than so many models * GPUs in all of them
HALVINGS = 40


def packed(order, weights, limit, gpu_num, fit):
    """The groups, and the models that found no room, of first or best fit in this order."""
    groups, room, left = [[] for _ in range(gpu_num)], [limit] * gpu_num, []
    for i in order:
        weight, chosen, least = weights[i], -1, limit * 2
        for gpu, space in enumerate(room):
            if weight <= space < least:
                chosen, least = gpu, space
                if fit == "first":
                    break
        if chosen < 0:
            left.append(i)
        else:
            groups[chosen].append(i)
            room[chosen] -= weight
    return groups, left


def squeaked(order, left, rng):
    """The order with the models that found no room moved forward by a random share of their place."""
    place = {i: rank for rank, i in enumerate(order)}
    for i in left:
        place[i] *= rng.random()
    return sorted(order, key=lambda i: place[i])


def packed_below(pressure, gpu_num, sizes, loads, rng):
    """A placement with every GPU below the pressure, or None where no order that was tried has one."""
    weights = [load + pressure * size for load, size in zip(loads, sizes)]
    limit = GPU_MEM_SIZE * pressure * (1 - 1e-9)
    by_key = {"weight": weights, "size": sizes, "load": loads}
    by_key["density"] = [load / size for load, size in zip(loads, sizes)]
    tried = []
    for key in KEYS:
        order = sorted(range(len(sizes)), key=lambda i: -by_key[key][i])
        for fit in FITS:
            groups, left = packed(order, weights, limit, gpu_num, fit)
            if not left:
                return groups
            tried.append((sum(weights[i] for i in left), order, left, fit))
    _, order, left, fit = min(tried, key=lambda one: one[0])
    for _ in range(min(WHEELS, WHEEL_WORK // (len(sizes) * gpu_num))):
        order = squeaked(order, left, rng)
        groups, left = packed(order, weights, limit, gpu_num, fit)
        if not left:
            return groups
    return None


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the placement of the smallest pressure that was packed."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    low = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    best, high = None, low
    for _ in range(200):  # up, by half each time, until something is packed
        high *= 1.5
        best = packed_below(high, gpu_num, sizes, loads, rng)
        if best is not None:
            break
    if best is None:
        raise ValueError("no packing was found at any pressure")
    for _ in range(HALVINGS):
        high = max(sum(loads[i] for i in group) / (GPU_MEM_SIZE - sum(sizes[i] for i in group)) for group in best)
        if high - low <= 1e-6 * high:
            break
        middle = (low + high) / 2
        groups = packed_below(middle, gpu_num, sizes, loads, rng)
        if groups is None:
            low = middle
        else:
            best = groups
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
