# role: constructor
# why: where memory is tight, memory used evenly leaves little that is too full, which changes can mend
# needs: better_placement
# wire: result = better_placement({result}, spread_memory(gpu_num, models))
def spread_memory(gpu_num, models):
    """Models by size, the largest first, each on the GPU with the most free memory, be there room or not."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    used = [0] * gpu_num
    for model in sorted(models, key=lambda m: (m.model_size, m.req_rate / m.slo), reverse=True):
        gpu = used.index(min(used))
        placement[gpu].append(model)
        used[gpu] += model.model_size
    return placement
