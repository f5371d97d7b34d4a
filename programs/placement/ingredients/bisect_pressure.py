# role: shared
# why: at a fixed pressure K the limit is linear, load + K * size <= K * 80, as in bin packing
BISECTIONS = 30


def bisect_pressure(gpu_num, models, fit):
    """The placement of the smallest pressure K for which `fit(gpu_num, weighed, K)` finds one, by bisection.

    `weighed` are pairs (load + K * size, model), the largest first; a GPU holds K * 80 of them.
    """
    low, high, best = 0.0, sum(m.req_rate / m.slo for m in models) + 1.0, None
    for _ in range(BISECTIONS):
        target = (low + high) / 2
        weighed = [(m.req_rate / m.slo + target * m.model_size, m) for m in models]
        weighed.sort(key=lambda pair: pair[0], reverse=True)
        found = fit(gpu_num, weighed, target * GPU_MEM_SIZE)
        if found is None:
            low = target
        else:
            high, best = target, found
    return best
