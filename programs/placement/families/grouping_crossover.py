"""A population of placements that inherit whole GPUs: grouping crossover, and a repair of what is left over.

Idea: what is good in a placement is not where a model is, but which models share a GPU. A child takes from two parents,
in turn, the GPU that comes nearest to the limit from below, as long as it shares no model with those taken already:
well filled GPUs are handed down. The models left over fill the remaining GPUs, best fit, then pairs of GPUs exchange up
to two models for two while the excess above the limit falls or stays. The limit is just below the best pressure found, so
the first child without excess is an improvement, and the population is weighed anew for the new limit.
Cost: children * (models + looks at pairs), about 1 ms a child for 10 GPUs; more GPUs have fewer children.
Origin: Falkenauer's grouping genetic algorithm for bin packing (1996); no earlier run tried it.
"""

import random
from itertools import combinations

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
POPULATION = 16
CHILDREN = 200
EFFORT = 2_000_000  # ways to exchange that are weighed in all
LOOKS_PER_GPU = 8  # pairs of GPUs looked at in the repair of a child
INHERITED = 0.7  # of the GPUs, at most
STEP = 0.5  # of the way from the best pressure to the even spread: how far the limit falls ...
VAIN = 60  # ... halved after so many children in vain, and a hundredth of the way is none


def excess(groups, weights, limit):
    """What is above the limit, in sum."""
    return sum(max(0.0, sum([weights[i] for i in group]) - limit) for group in groups)


def filled(groups, left, weights, limit):
    """The models left over, heaviest first: each to the fullest group that has room, else to the lightest."""
    totals = [sum([weights[i] for i in group]) for group in groups]
    for i in sorted(left, key=lambda i: -weights[i]):
        fits = [total for total in totals if total + weights[i] <= limit]
        gpu = totals.index(max(fits) if fits else min(totals))
        groups[gpu].append(i)
        totals[gpu] += weights[i]
    return groups


def repaired(groups, weights, limit, rng):
    """Pairs of GPUs, one too heavy, exchange up to two models for two in the way that leaves least above the limit.
    Returns the groups and how many ways were weighed."""
    weighed = 0
    totals = [sum([weights[i] for i in group]) for group in groups]
    for _ in range(LOOKS_PER_GPU * len(groups)):
        heavy = [gpu for gpu, total in enumerate(totals) if total > limit]
        if not heavy:
            break
        one, other = rng.choice(heavy), rng.randrange(len(groups))
        if one == other:
            continue
        both = totals[one] + totals[other]
        least, ways = float("inf"), []
        offers = [b for n in range(3) for b in combinations(groups[other], n)]
        for gives in (b for n in range(3) for b in combinations(groups[one], n)):
            weighed += len(offers)
            kept = totals[one] - sum([weights[i] for i in gives])
            for takes in offers:
                total = kept + sum([weights[i] for i in takes])
                over = max(total - limit, 0.0) + max(both - total - limit, 0.0)
                if over < least - 1e-12:
                    least, ways = over, [(gives, takes)]
                elif over <= least + 1e-12 and (gives or takes):
                    ways.append((gives, takes))
        gives, takes = rng.choice(ways)
        groups[one] = [i for i in groups[one] if i not in gives] + list(takes)
        groups[other] = [i for i in groups[other] if i not in takes] + list(gives)
        totals[one] = sum([weights[i] for i in groups[one]])
        totals[other] = sum([weights[i] for i in groups[other]])
    return groups, weighed


def child_of(mother, father, weights, limit, rng):
    """Whole GPUs from both in turn, the fullest below the limit first; the models of the others are left over."""
    gpu_num, taken, groups = len(mother), set(), []
    queues = []
    for parent in (mother, father):
        room = [abs(limit - sum([weights[i] for i in group])) * (0.5 + rng.random()) for group in parent]
        queues.append([parent[n] for n in sorted(range(gpu_num), key=room.__getitem__)])
    for turn in range(2 * gpu_num):
        if len(groups) >= max(1, int(INHERITED * gpu_num)):
            break
        group = queues[turn % 2].pop(0)
        if group and taken.isdisjoint(group) and sum([weights[i] for i in group]) <= limit:
            groups.append(list(group))
            taken.update(group)
    left = [i for i in range(len(weights)) if i not in taken]
    return filled(groups + [[] for _ in range(gpu_num - len(groups))], left, weights, limit)


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement that was ever born."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    even = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    best, reached, aim, step, vain, effort = None, float("inf"), even * 1.5, STEP, 0, 0
    population, weights, limit = [], [], 0.0
    for birth in range(20 * CHILDREN):
        if best is not None and (birth >= CHILDREN or effort >= EFFORT):
            break
        if not weights:  # a new limit
            weights = [load + aim * size for load, size in zip(loads, sizes)]
            limit = GPU_MEM_SIZE * aim * (1 - 1e-9)
            population = [(excess(groups, weights, limit), groups) for _, groups in population]
        if len(population) < POPULATION:
            order = [weight * (1 + 0.3 * rng.random()) for weight in weights]
            child = filled([[] for _ in range(gpu_num)], range(len(order)), order, limit)
        else:
            (_, mother), (_, father) = rng.sample(population, 2)
            child = child_of(mother, father, weights, limit, rng)
        child, weighed = repaired(child, weights, limit, rng)
        effort += weighed
        over, vain = excess(child, weights, limit), vain + 1
        if not any(abs(over - other) < 1e-9 and over > 0 for other, _ in population):
            population = sorted([*population, (over, child)], key=lambda one: one[0])[:POPULATION]
        if over == 0:
            best, vain, weights = child, 0, []
            reached = max(sum(loads[i] for i in g) / (GPU_MEM_SIZE - sum(sizes[i] for i in g)) for g in best)
            aim = reached - step * (reached - even)
        elif vain == VAIN:
            vain, step, weights = 0, step / 2 if step > 0.01 else 0.0, []
            aim = reached - step * (reached - even) if best is not None else aim * 1.2
    if best is None:
        raise ValueError("no child found a placement at any pressure")
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
