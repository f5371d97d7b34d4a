"""Binary search on the pressure: for a fixed target, placing is bin packing, tried by decreasing first fit."""

GPU_MEM_SIZE = 80
BISECTIONS = 60


# EVOLVE-BLOCK-START
def place_below(gpu_num, models, pressure):
    """A placement by decreasing first fit with no GPU above `pressure`, or None where first fit finds none.

    load / (GPU_MEM_SIZE - size) <= K is load + K * size <= K * GPU_MEM_SIZE: one weight per model, one capacity.
    """
    def weight(model):
        return model.req_rate / model.slo + pressure * model.model_size

    placement = {gpu_id: [] for gpu_id in range(gpu_num)}
    room = [pressure * GPU_MEM_SIZE] * gpu_num
    used = [0] * gpu_num
    for model in sorted(models, key=weight, reverse=True):
        for gpu_id in range(gpu_num):
            if weight(model) <= room[gpu_id] and used[gpu_id] + model.model_size < GPU_MEM_SIZE:
                placement[gpu_id].append(model)
                room[gpu_id] -= weight(model)
                used[gpu_id] += model.model_size
                break
        else:
            return None
    return placement


def compute_model_placement(gpu_num, models):
    """Return {gpu_id: [model, ...]}: the placement for the smallest pressure that first fit can reach."""
    low, high = 0.0, 1.0
    best = place_below(gpu_num, models, high)
    while best is None and high < 1e6:
        low, high = high, 2 * high
        best = place_below(gpu_num, models, high)
    if best is None:
        raise ValueError("first fit finds no placement at any pressure")
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        placement = place_below(gpu_num, models, middle)
        if placement is None:
            low = middle
        else:
            best, high = placement, middle
    return best
# EVOLVE-BLOCK-END
