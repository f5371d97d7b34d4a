"""Randomised linearised starts: the packing below a limit, its weights noisy, from many starts; each one is settled.

Idea: below a fixed pressure K a model weighs load + K * size and placing is packing. The weights of a start carry a little
noise, so that best fit packs another way each time; the true weights decide what fits. The limit K is just below the best
pressure so far, so each packing that succeeds is an improvement. What finds no room goes where it is least too much, and
is settled by swaps and moves that lower the sum of what is above the limit. Noise grows while nothing is found.
Cost: starts * (models * GPUs for the packing + a few hundred looks at pairs for the repair).
Origin: recommended by the earlier runs ("small random noise on the weights, 5 to 10 starts"), not tried there.
"""

import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
STARTS = 400
WORK = 6_000_000  # starts * models * GPUs at most
NOISE = (0.02, 0.4)  # of the weights, at the first and at the last start since the last success
PATIENCE = 60  # starts over which the noise grows
LOOKS = 40  # for each model left over, so many pairs are looked at in a repair


def packed(weights, keys, limit, gpu_num):
    """Groups by best fit in the order of the keys; what fits nowhere goes to the lightest. And the group weights."""
    groups, totals = [[] for _ in range(gpu_num)], [0.0] * gpu_num
    for i in sorted(range(len(weights)), key=keys.__getitem__, reverse=True):
        room = limit - weights[i]
        fits = [total for total in totals if total <= room]
        gpu = totals.index(max(fits) if fits else min(totals))
        groups[gpu].append(i)
        totals[gpu] += weights[i]
    return groups, totals


def settled(groups, totals, weights, limit, rng):
    """Whether all groups came below the limit by moves and swaps with the heaviest, each lowering the sum above it."""
    looks = LOOKS * len(weights)
    while looks > 0:
        worst = max(range(len(totals)), key=totals.__getitem__)
        if totals[worst] <= limit:
            return True
        over, done = totals[worst] - limit, False
        partners = rng.sample(range(len(totals)), min(len(totals), 60))
        for other in partners:
            if other == worst or done:
                continue
            space = limit - totals[other]
            for i in groups[worst]:
                for j in [-1, *groups[other]]:
                    looks -= 1
                    shift = weights[i] - (weights[j] if j >= 0 else 0.0)
                    if 0 < shift and max(over - shift, 0.0) + max(shift - space, 0.0) < over + max(-space, 0) - 1e-12:
                        groups[worst].remove(i)
                        groups[other].append(i)
                        if j >= 0:
                            groups[other].remove(j)
                            groups[worst].append(j)
                        totals[worst] -= shift
                        totals[other] += shift
                        done = True
                        break
                if done:
                    break
        if not done:
            return False
    return False


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the packing with the smallest pressure of all starts."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    low = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    best, reached, vain, aim = None, None, 0, low
    starts = min(STARTS, max(30, WORK // (len(models) * gpu_num)))
    for start in range(20 * starts):
        if start >= starts and best is not None:
            break
        if reached is None:
            pressure = aim = aim * 1.05
        else:  # half way to the bound at first; the more starts fail, the nearer to what was reached
            pressure = reached - (reached - low) * 0.5 ** (1 + vain / 2)
        weights = [load + pressure * size for load, size in zip(loads, sizes)]
        limit = GPU_MEM_SIZE * pressure * (1 - 1e-9)
        noise = NOISE[0] + (NOISE[1] - NOISE[0]) * (vain % PATIENCE) / PATIENCE
        keys = [weight * (1 + noise * rng.gauss(0, 1)) for weight in weights]
        groups, totals = packed(weights, keys, limit, gpu_num)
        vain += 1
        if settled(groups, totals, weights, limit, rng):
            best, vain = groups, 0
            reached = max(
                sum(loads[i] for i in group) / (GPU_MEM_SIZE - sum(sizes[i] for i in group)) for group in groups
            )
    if best is None:
        raise ValueError("no start found a placement at any pressure")
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
