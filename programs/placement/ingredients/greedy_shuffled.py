# role: constructor
# why: no single order suits every instance, so that slightly disturbed orders are tried as well
# needs: greedy_fill, better_placement
# wire: result = better_placement({result}, greedy_shuffled(gpu_num, models))
import random

SHUFFLED_ORDERS = 10
SHUFFLE_NOISE = 0.5


def greedy_shuffled(gpu_num, models):
    """The best of several greedy placements, each by load times a random factor."""
    rng = random.Random(1)
    best = None
    for _ in range(SHUFFLED_ORDERS):
        weight = {id(m): m.req_rate / m.slo * (1 + SHUFFLE_NOISE * rng.random()) for m in models}
        ordered = sorted(models, key=lambda m: weight[id(m)], reverse=True)
        best = better_placement(best, greedy_fill(gpu_num, ordered, lambda load, free: load / free))
    return best
