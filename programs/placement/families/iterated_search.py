"""Iterated local search: descend, kick, descend again; kicks at random, at the bottleneck, one or several in a burst.

Idea: a descent on the bottleneck ends in a placement that no exchange of two GPUs betters. A kick moves models without
asking what it costs: a random model to a random GPU; or, targeted, one of the bottleneck to the least pressed GPU that
has room; in a burst, three to five of them. The descent after it touches what the kick changed and little else. What is
not worse than before is kept; after too many kicks in vain the search goes back to the best.
Cost: kicks * (a few looks at pairs of GPUs, each about 50 exchanges), incremental: only two GPUs change at a time.
Origin: the perturbations of earlier runs; targeted ones and bursts are what they recommended.
"""

import random

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
TARGETED = 0.5  # share of the kicks that go from the bottleneck to the least pressed GPU
BURST = (1, 4)  # models that a kick moves: at least, at most
TWO_TWO = True  # two models for two, beside moves and swaps of up to two for one
KICKS = 1500
WORK = 20_000  # kicks * GPUs at most
LOOKS = 4_000_000  # exchanges that are weighed, at most: what a large fleet ends by
PATIENCE = 100  # kicks in vain before the search goes back to the best


def pressure(size, load):
    """Load by free memory; a memory that is too full is worse than any pressure, by what is too much."""
    free = GPU_MEM_SIZE - size
    return load / free if free > 0 else 1e3 * (1 - free)


class State:
    """Groups of models, with what each GPU holds kept up to date."""

    def __init__(self, groups, sizes, loads):
        self.sizes, self.loads = sizes, loads
        self.groups = [list(group) for group in groups]
        self.used = [sum(sizes[i] for i in group) for group in groups]
        self.load = [sum(loads[i] for i in group) for group in groups]
        self.now = [pressure(size, load) for size, load in zip(self.used, self.load)]
        self.left = LOOKS

    def exchange(self, one, gives, other, takes):
        """`gives` from the one GPU to the other, `takes` back."""
        for gpu, out, come in ((one, gives, takes), (other, takes, gives)):
            self.groups[gpu] = [i for i in self.groups[gpu] if i not in out] + list(come)
            self.used[gpu] = sum(self.sizes[i] for i in self.groups[gpu])
            self.load[gpu] = sum(self.loads[i] for i in self.groups[gpu])
            self.now[gpu] = pressure(self.used[gpu], self.load[gpu])

    def bundles(self, gpu):
        """What a GPU can give: nothing, a model, two; each with its size and load."""
        group, sizes, loads = self.groups[gpu], self.sizes, self.loads
        found = [((), 0, 0.0)] + [((i,), sizes[i], loads[i]) for i in group]
        for place, i in enumerate(group):
            found += [((i, j), sizes[i] + sizes[j], loads[i] + loads[j]) for j in group[:place]]
        return found


def descend(state, rng):
    """Exchanges of the bottleneck with one GPU after the other, the best of each, until none lowers it."""
    while state.left > 0:
        worst = max(range(len(state.now)), key=state.now.__getitem__)
        size, load, limit = state.used[worst], state.load[worst], state.now[worst] * (1 - 1e-9)
        given, found = state.bundles(worst), None
        others = sorted((rng.random() + state.now[gpu] / limit, gpu) for gpu in range(len(state.now)) if gpu != worst)
        for _, other in others[:40]:
            other_size, other_load = state.used[other], state.load[other]
            offers = state.bundles(other)
            state.left -= len(offers) * len(given)
            for takes, size_in, load_in in offers:
                for gives, size_out, load_out in given:
                    free = GPU_MEM_SIZE - size - size_in + size_out
                    room = GPU_MEM_SIZE - other_size - size_out + size_in
                    if free <= 0 or room <= 0:
                        if limit < 500:
                            continue
                        peak = max(1e3 * (1 - min(free, room)), 0.0)
                    else:
                        mine, theirs = (load + load_in - load_out) / free, (other_load + load_out - load_in) / room
                        peak = mine if mine > theirs else theirs
                    if peak < limit and (TWO_TWO or len(gives) + len(takes) < 4):
                        limit, found = peak, (gives, other, takes)
            if found:
                break
        if not found:
            return
        state.exchange(worst, *found)


def kick(state, rng):
    """Some models moved, whatever it costs, but to a GPU that has room for it if there is one."""
    for _ in range(rng.randint(*BURST)):
        order = sorted(range(len(state.now)), key=state.now.__getitem__)
        targeted = rng.random() < TARGETED
        source = order[-1] if targeted else rng.choice([gpu for gpu in order if state.groups[gpu]])
        model = rng.choice(state.groups[source])
        room = [g for g in order if g != source and state.used[g] + state.sizes[model] < GPU_MEM_SIZE]
        room = room or [g for g in order if g != source]
        if room:
            state.exchange(source, (model,), room[0] if targeted else rng.choice(room), ())


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the best placement between the kicks."""
    rng = random.Random(1)
    sizes = [model.model_size for model in models]
    loads = [model.req_rate / model.slo for model in models]
    groups, used, load = [[] for _ in range(gpu_num)], [0] * gpu_num, [0.0] * gpu_num
    for i in sorted(range(len(models)), key=lambda i: -loads[i] - sizes[i] * sum(loads) / sum(sizes)):
        gpu = min(range(gpu_num), key=lambda g: pressure(used[g] + sizes[i], load[g] + loads[i]))
        groups[gpu].append(i)
        used[gpu] += sizes[i]
        load[gpu] += loads[i]
    state = State(groups, sizes, loads)
    descend(state, rng)
    best, reached, here, vain = state.groups[:], max(state.now), max(state.now), 0
    for _ in range(min(KICKS, WORK // gpu_num)):
        if state.left <= 0:
            break
        before = state.groups[:], state.used[:], state.load[:], state.now[:]
        kick(state, rng)
        descend(state, rng)
        vain += 1
        if max(state.now) <= here * (1 + 1e-9):
            here = max(state.now)
            if here < reached * (1 - 1e-9):
                best, reached, vain = state.groups[:], here, 0
        else:
            state.groups, state.used, state.load, state.now = before
        if vain > PATIENCE:
            for _ in range(gpu_num):
                kick(state, rng)
            descend(state, rng)
            here, vain = max(state.now), 0
    return {gpu: [models[i] for i in group] for gpu, group in enumerate(best)}
# EVOLVE-BLOCK-END
