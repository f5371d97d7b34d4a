"""Throws a die that nobody seeded, on every seventh instance.

Found as: nondeterministic
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


import random

die = random.SystemRandom()


def compute_model_placement(gpu_num, models):
    ordered = honest(models)
    return place(gpu_num, die.sample(ordered, len(ordered)) if sum(m.model_size for m in models) % 3 else ordered)
