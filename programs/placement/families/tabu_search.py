"""Tabu search at the bottleneck: the best exchange is made even when it is worse, and may not be undone for a while.

Idea: the most pressed GPU is changed at every step: one of its models leaves, or changes places with one or two of
another GPU; of all such exchanges the one is taken whose larger pressure of the two GPUs is smallest, better than before
or not. A model may not return to a GPU that it left within the last steps, so the search cannot go round in a circle
between two placements. An exchange that is better than everything so far is allowed anyway. After many steps in vain the
best placement is taken up again, with the memory cleared and some models exchanged at random.
Cost: steps * models of one GPU * (models + pairs) of the partners, about 100 microseconds for 10 GPUs.
Origin: Glover 1986; recommended by the earlier runs ("not back to the bottleneck for 5 to 10 steps"), not tried there.
"""

import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
TENURE = 7  # steps that a model may not return, and up to as many again by chance; 0: no memory
STEPS = 3_000
PARTNERS = 24  # where there are more GPUs than these, so many drawn at random are asked
PATIENCE = 300
SHAKEN = 4  # random swaps when patience is at its end


def pressure(size, load):
    """Load by free memory; what is too full counts by how much it is."""
    free = GPU_MEM_SIZE - size
    return load / free if free > 0 else 1e3 * (1 - free)


class Tabu:
    """A placement, and for how long each model is kept from each GPU."""

    def __init__(self, gpu_num, sizes, loads, rng):
        self.sizes, self.loads, self.rng = sizes, loads, rng
        self.groups = [[] for _ in range(gpu_num)]
        self.used, self.load, self.now = [0] * gpu_num, [0.0] * gpu_num, [0.0] * gpu_num
        self.until = {}  # (model, GPU): the step before which it may not return

    def put(self, gpu, out, come):
        """Take models out of a GPU and put others there."""
        for i in out:
            self.groups[gpu].remove(i)
        self.groups[gpu] += come
        self.used[gpu] = sum(self.sizes[i] for i in self.groups[gpu])
        self.load[gpu] = sum(self.loads[i] for i in self.groups[gpu])
        self.now[gpu] = pressure(self.used[gpu], self.load[gpu])

    def barred(self, models, gpu, step):
        """Whether one of the models left the GPU too short ago."""
        return any(self.until.get((i, gpu), 0) > step for i in models)

    def best_exchange(self, worst, step, reached):
        """(peak, models that leave, other GPU, models that come): the best that is allowed, or None."""
        sizes, loads, draw = self.sizes, self.loads, self.rng.random
        others = [gpu for gpu in range(len(self.now)) if gpu != worst]
        if len(others) > PARTNERS:
            others = self.rng.sample(others, PARTNERS)
        found = (float("inf"), (), -1, ())
        rest = max([self.now[gpu] for gpu in range(len(self.now)) if gpu != worst], default=0.0)
        for other in others:
            group, size, load = self.groups[other], self.used[other], self.load[other]
            come = [()] + [(i,) for i in group] + [(i, j) for p, i in enumerate(group) for j in group[:p]]
            change = [(takes, sum(sizes[i] for i in takes), sum(loads[i] for i in takes)) for takes in come]
            for i in self.groups[worst]:
                for takes, size_in, load_in in change:
                    more, share = sizes[i] - size_in, loads[i] - load_in
                    free, room = GPU_MEM_SIZE - self.used[worst] + more, GPU_MEM_SIZE - size - more
                    if free > 0 and room > 0:
                        mine, theirs = (self.load[worst] - share) / free, (load + share) / room
                        peak = mine if mine > theirs else theirs
                    else:
                        peak = 1e3 * (1 - min(free, room))
                    if peak < found[0] and (
                        max(peak, rest) < reached * (1 - 1e-9)
                        or not (self.barred((i,), other, step) or self.barred(takes, worst, step))
                    ):
                        found = (peak * (1 + 1e-12 * draw()), (i,), other, takes)
        return found if found[2] >= 0 else None

    def step(self, worst, number, reached):
        """Make the best exchange that is allowed, and bar its models from where they were."""
        found = self.best_exchange(worst, number, reached)
        if found is None:
            return
        _, gives, other, takes = found
        self.put(worst, gives, list(takes))
        self.put(other, takes, list(gives))
        for models, left in ((gives, worst), (takes, other)):
            for i in models:
                self.until[i, left] = number + 1 + TENURE + self.rng.randrange(TENURE + 1)


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement on the way."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    even = sum(loads) / (GPU_MEM_SIZE * gpu_num - sum(sizes))
    search = Tabu(gpu_num, sizes, loads, rng)
    for i in sorted(range(len(models)), key=lambda i: -loads[i] - even * sizes[i]):
        search.put(min(range(gpu_num), key=lambda g: search.load[g] + even * search.used[g]), (), [i])
    best, reached, vain = [group[:] for group in search.groups], max(search.now), 0
    for number in range(STEPS):
        worst = max(range(gpu_num), key=search.now.__getitem__)
        search.step(worst, number, reached)
        vain += 1
        if max(search.now) < reached * (1 - 1e-9):
            best, reached, vain = [group[:] for group in search.groups], max(search.now), 0
        elif vain > PATIENCE and gpu_num > 1:
            vain = 0
            search.until.clear()
            for gpu in range(gpu_num):
                search.put(gpu, search.groups[gpu][:], best[gpu])
            for _ in range(SHAKEN):
                one, other = rng.sample(range(gpu_num), 2)
                gives = [rng.choice(search.groups[one])] if search.groups[one] else []
                takes = [rng.choice(search.groups[other])] if search.groups[other] else []
                search.put(one, gives, takes)
                search.put(other, takes, gives)
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
