"""First fit in the given order: each model on the first GPU whose use stays below its memory."""

GPU_MEM_SIZE = 80


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: models in the given order, each on the first GPU that has room."""
    placement = {gpu_id: [] for gpu_id in range(gpu_num)}
    used = [0] * gpu_num
    for model in models:
        for gpu_id in range(gpu_num):
            if used[gpu_id] + model.model_size < GPU_MEM_SIZE:
                placement[gpu_id].append(model)
                used[gpu_id] += model.model_size
                break
        else:
            raise ValueError(f"no GPU has room for {model.model_name} ({model.model_size} GB)")
    return placement
# EVOLVE-BLOCK-END
