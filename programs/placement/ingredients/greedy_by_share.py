# role: constructor
# why: a model matters by its share of the load and by its share of the memory together
# needs: greedy_fill, better_placement
# wire: result = better_placement({result}, greedy_by_share(gpu_num, models))
SIZE_WEIGHT = 1.0


def greedy_by_share(gpu_num, models):
    """Models by their share of all load plus their weighted share of all memory, the largest first."""
    load = sum(m.req_rate / m.slo for m in models) or 1.0
    size = SIZE_WEIGHT / (sum(m.model_size for m in models) or 1)
    ordered = sorted(models, key=lambda m: m.req_rate / m.slo / load + m.model_size * size, reverse=True)
    return greedy_fill(gpu_num, ordered, lambda total, free: total / free)
