"""Greedy placement by current pressure: models by load, each on the GPU that is least pressed so far."""

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]} with a small largest KVPR.

    Models are taken by req_rate / slo, largest first; each goes to the GPU with the smallest
    current ratio of load to free memory, among those that it fits on.
    """
    placement = {gpu_id: [] for gpu_id in range(gpu_num)}
    free = [GPU_MEM_SIZE] * gpu_num
    load = [0.0] * gpu_num

    for model in sorted(models, key=lambda m: m.req_rate / m.slo, reverse=True):
        best_gpu = None
        best_ratio = float("inf")
        for gpu_id in range(gpu_num):
            if model.model_size < free[gpu_id]:
                ratio = load[gpu_id] / free[gpu_id]
                if ratio < best_ratio:
                    best_ratio = ratio
                    best_gpu = gpu_id
        if best_gpu is None:
            raise ValueError(f"no GPU has room for {model.model_name} ({model.model_size} GB)")
        placement[best_gpu].append(model)
        free[best_gpu] -= model.model_size
        load[best_gpu] += model.req_rate / model.slo

    return placement
# EVOLVE-BLOCK-END
