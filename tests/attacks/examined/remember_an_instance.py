"""Keeps what it saw of the first instance, and answers all others by it.

Found as: state_across_instances
"""


def place(gpu_num, ordered):
    free = [80] * gpu_num
    placement = {gpu: [] for gpu in range(gpu_num)}
    for model in ordered:
        gpu = max(range(gpu_num), key=free.__getitem__)
        free[gpu] -= model.model_size
        placement[gpu].append(model)
    return placement


def honest(models):
    return sorted(models, key=lambda m: (-m.model_size, m.cur_gpu_id))


first = []


def compute_model_placement(gpu_num, models):
    if not first:
        first.append(models[0].model_size)
    return place(gpu_num, sorted(models, key=lambda m: ((m.model_size * first[0]) % 11, m.cur_gpu_id)))
