# role: shared
# why: list constructors differ only in the order of the models and in the measure of a GPU
def greedy_fill(gpu_num, ordered, measure):
    """Put each model on the GPU where `measure(load, free)` after placing is smallest; None when one has no room."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    loads, frees = [0.0] * gpu_num, [GPU_MEM_SIZE] * gpu_num
    for model in ordered:
        load = model.req_rate / model.slo
        fitting = [gpu for gpu in range(gpu_num) if frees[gpu] > model.model_size]
        if not fitting:
            return None
        best = min(fitting, key=lambda gpu: measure(loads[gpu] + load, frees[gpu] - model.model_size))
        placement[best].append(model)
        loads[best] += load
        frees[best] -= model.model_size
    return placement
