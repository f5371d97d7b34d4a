"""Greedy by load: the heaviest model first, each on the GPU whose resulting pressure is smallest."""

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: by load, each where the resulting KVPR is smallest (ties: lowest id)."""
    placement = {gpu_id: [] for gpu_id in range(gpu_num)}
    used = [0] * gpu_num
    load = [0.0] * gpu_num
    for model in sorted(models, key=lambda m: -m.req_rate / m.slo):
        best_gpu = None
        best_pressure = float("inf")
        for gpu_id in range(gpu_num):
            free = GPU_MEM_SIZE - used[gpu_id] - model.model_size
            if free > 0:
                pressure = (load[gpu_id] + model.req_rate / model.slo) / free
                if pressure < best_pressure:
                    best_pressure = pressure
                    best_gpu = gpu_id
        if best_gpu is None:
            raise ValueError(f"no GPU has room for {model.model_name} ({model.model_size} GB)")
        placement[best_gpu].append(model)
        used[best_gpu] += model.model_size
        load[best_gpu] += model.req_rate / model.slo
    return placement
# EVOLVE-BLOCK-END
