"""Ruin and recreate: a few GPUs are emptied and filled again, best fit at a limit between theirs and the best.

Idea: the most pressed GPU and some random ones lose all their models. These come back in order of weight (load +
K * size, with noise, so that each time is another), each to the emptied GPU that it fits best: the fullest one that stays
below the limit K, else the one that is least pressed then. A recreation is kept when its largest pressure is not above
that of the ruined GPUs, or a little above, within a threshold that falls to nothing: rises are walked over at first.
Cost: rounds * models of 2 to 4 GPUs * GPUs: about 60 microseconds a round, whatever the number of GPUs.
Origin: Schrimpf et al. 2000; the programs of earlier runs that reached the optimum of `adrs` by it.
"""

import heapq
import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
ROUNDS = 12_000
ROUNDS_PER_GPU = 120  # of more than 100 GPUs each is ruined so often
RUINED = (2, 4)  # GPUs emptied in a round: at least, at most
NOISE = 0.3  # of the weight by which the models come back
BLINK = 0.1  # share of the GPUs that a model overlooks
THRESHOLD = 0.05  # by which a recreation may be worse at first, relative to the pressure it had


def pressure(size, load):
    """Load by free memory; what is too full counts by how much it is."""
    free = GPU_MEM_SIZE - size
    return load / free if free > 0 else 1e3 * (1 - free)


def recreated(removed, count, limit, sizes, loads, rng):
    """The models dealt to so many empty GPUs: groups, and size and load of each."""
    keys = {i: (loads[i] + limit * sizes[i]) * (1 + NOISE * rng.random()) for i in removed}
    groups, used, load = [[] for _ in range(count)], [0] * count, [0.0] * count
    for i in sorted(removed, key=lambda i: -keys[i]):
        fullest = least = None
        for gpu in range(count):
            weight = load[gpu] + limit * used[gpu]
            result = pressure(used[gpu] + sizes[i], load[gpu] + loads[i])
            if least is None or result < least[0]:
                least = (result, gpu)
            if result < limit and (fullest is None or weight > fullest[0]) and rng.random() > BLINK:
                fullest = (weight, gpu)
        gpu = (fullest or least)[1]
        groups[gpu].append(i)
        used[gpu] += sizes[i]
        load[gpu] += loads[i]
    return groups, used, load


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement that was recreated."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    bound = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    groups, used, load = [[] for _ in range(gpu_num)], [0] * gpu_num, [0.0] * gpu_num
    lightest = [(0.0, gpu) for gpu in range(gpu_num)]
    for i in sorted(range(len(models)), key=lambda i: -loads[i] - bound * sizes[i]):
        weight, gpu = heapq.heappop(lightest)
        groups[gpu].append(i)
        used[gpu] += sizes[i]
        load[gpu] += loads[i]
        heapq.heappush(lightest, (weight + loads[i] + bound * sizes[i], gpu))
    now = [pressure(size, total) for size, total in zip(used, load)]
    best, reached = groups[:], max(now)
    rounds = max(ROUNDS, ROUNDS_PER_GPU * gpu_num)
    for turn in range(rounds):
        worst = max(range(gpu_num), key=now.__getitem__)
        first = worst if rng.random() < 0.7 else rng.randrange(gpu_num)
        ruined = [first] + rng.sample(range(gpu_num), min(gpu_num, rng.randint(*RUINED)))
        ruined = list(dict.fromkeys(ruined))[: RUINED[1]]
        before = max(now[gpu] for gpu in ruined)
        removed = [i for gpu in ruined for i in groups[gpu]]
        weights = sum(loads[i] for i in removed)
        even = weights / max(1, GPU_MEM_SIZE * len(ruined) - sum(sizes[i] for i in removed))
        limit = even + (min(before, reached) - even) * rng.random()
        new, new_used, new_load = recreated(removed, len(ruined), limit, sizes, loads, rng)
        after = max(map(pressure, new_used, new_load))
        threshold = THRESHOLD * (1 - turn / rounds) ** 2 / max(1.0, gpu_num / 20)
        allowed = max(before, reached * (1 + threshold * rng.random()) if before < 500 else before)
        if after <= allowed:
            for gpu, group, size, total in zip(ruined, new, new_used, new_load):
                groups[gpu], used[gpu], load[gpu], now[gpu] = group, size, total, pressure(size, total)
            if after < reached and max(now) < reached * (1 - 1e-9):
                best, reached = groups[:], max(now)
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
