"""Variable neighbourhood descent on the vector of pressures, largest first; shaken when no neighbourhood helps.

Idea: placements are compared by their sorted vector of pressures, not by the largest alone: where the most pressed GPU
cannot be helped, the next one is, which makes room for the first. An exchange of two GPUs betters the vector if both end
below the larger of the two. The neighbourhoods are tried in turn, small ones first: moves, swaps, one for two, two for
two, and at last all ways to deal the models of two GPUs. After each success it begins with the smallest again. When
all fail, a number of random swaps shakes the placement, one more after each failure (Hansen and Mladenovic 1997).
Cost: a shake is followed by a look at some tens of pairs of GPUs, of 10 to 500 exchanges each. Only pairs that changed
since they were last looked at are looked at again.
Origin: the lexicographic vectors and the neighbourhood descents of earlier runs; their order of neighbourhoods is ours.
"""

import random
from itertools import combinations

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
DEPTH = 4  # so many GPUs, the most pressed first, are helped; 1: the bottleneck alone
PARTNERS = 16  # the least pressed GPUs, asked to help
NEIGHBOURHOODS = ((1, 0), (1, 1), (2, 1), (1, 2), (2, 2), "deal")  # models given and taken; all ways to deal the two
DEALT = 9  # models of two GPUs at most, for all ways to be tried
SHAKES = 120
WORK = 6_000  # shakes * GPUs at most
GROWTH = 6  # swaps of a shake, at most


def pressure(size, load):
    """Load by free memory; what is too full counts by how much it is."""
    free = GPU_MEM_SIZE - size
    return load / free if free > 0 else 1e3 * (1 - free)


def ways(kind, mine, theirs):
    """The exchanges of a neighbourhood: what one GPU gives, and what it takes."""
    if kind != "deal":
        for gives in combinations(mine, kind[0]):
            for takes in combinations(theirs, kind[1]):
                yield gives, takes
    elif len(mine) + len(theirs) <= DEALT:
        for given in range(len(mine) + 1):
            for taken in range(len(theirs) + 1):
                if given > 2 or taken > 2:
                    for gives in combinations(mine, given):
                        for takes in combinations(theirs, taken):
                            yield gives, takes


class Placement:
    """Groups, their sizes, loads and pressures; and which pairs are known to be without a better exchange."""

    def __init__(self, groups, sizes, loads):
        self.sizes, self.loads, self.groups = sizes, loads, groups
        self.used, self.load = [0] * len(groups), [0.0] * len(groups)
        self.now, self.version, self.settled = [0.0] * len(groups), [0] * len(groups), {}
        for gpu in range(len(groups)):
            self.weigh(gpu)

    def weigh(self, gpu):
        """Sum up a GPU whose group has changed."""
        self.used[gpu] = sum(self.sizes[i] for i in self.groups[gpu])
        self.load[gpu] = sum(self.loads[i] for i in self.groups[gpu])
        self.now[gpu] = pressure(self.used[gpu], self.load[gpu])
        self.version[gpu] += 1

    def exchange(self, one, gives, other, takes):
        """`gives` to the other GPU, `takes` back."""
        self.groups[one] = [i for i in self.groups[one] if i not in gives] + list(takes)
        self.groups[other] = [i for i in self.groups[other] if i not in takes] + list(gives)
        self.weigh(one)
        self.weigh(other)

    def helped(self, one, other, kind):
        """Whether the best exchange of this kind lowered the larger pressure of the two; then it was made."""
        key, seen = (one, other, kind), (self.version[one], self.version[other])
        if self.settled.get(key) == seen:
            return False
        limit, found = max(self.now[one], self.now[other]) * (1 - 1e-9), None
        sizes, loads = self.sizes, self.loads
        for gives, takes in ways(kind, self.groups[one], self.groups[other]):
            size = sum([sizes[i] for i in takes]) - sum([sizes[i] for i in gives])
            load = sum([loads[i] for i in takes]) - sum([loads[i] for i in gives])
            peak = pressure(self.used[one] + size, self.load[one] + load)
            if peak < limit:
                peak = max(peak, pressure(self.used[other] - size, self.load[other] - load))
                if peak < limit:
                    limit, found = peak, (gives, takes)
        if found is None:
            self.settled[key] = seen
            return False
        self.exchange(one, found[0], other, found[1])
        return True

    def descend(self):
        """Exchanges until no neighbourhood of the most pressed GPUs has one that betters the vector."""
        again = True
        while again:
            order = sorted(range(len(self.now)), key=lambda gpu: -self.now[gpu])
            again = any(
                self.helped(one, other, kind)
                for one in order[:DEPTH]
                for kind in NEIGHBOURHOODS
                for other in order[: -PARTNERS - 1 : -1]
                if self.now[other] < self.now[one]
            )


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement after all shakes, by its vector of pressures."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    even = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    groups, totals = [[] for _ in range(gpu_num)], [0.0] * gpu_num
    for i in sorted(range(len(models)), key=lambda i: -loads[i] - even * sizes[i]):
        gpu = totals.index(min(totals))
        groups[gpu].append(i)
        totals[gpu] += loads[i] + even * sizes[i]
    state = Placement(groups, sizes, loads)
    state.descend()
    best, vector, swaps = state.groups[:], sorted(state.now, reverse=True), 1
    for _ in range(min(SHAKES, WORK // gpu_num)):
        for _ in range(swaps):
            one, other = rng.randrange(gpu_num), rng.randrange(gpu_num)
            if one != other and state.groups[one] and state.groups[other]:
                state.exchange(one, (rng.choice(state.groups[one]),), other, (rng.choice(state.groups[other]),))
        state.descend()
        reached = sorted(state.now, reverse=True)
        if reached <= vector:
            swaps = swaps % GROWTH + 1 if reached == vector else 1
            best, vector = state.groups[:], reached
        else:
            swaps = swaps % GROWTH + 1
            for gpu, group in enumerate(best):
                if state.groups[gpu] != group:
                    state.groups[gpu] = group
                    state.weigh(gpu)
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
