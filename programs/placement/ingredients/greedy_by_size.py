# role: constructor
# why: large models are the hardest to find room for, so that they choose first
# needs: greedy_fill, better_placement
# wire: result = better_placement({result}, greedy_by_size(gpu_num, models))
def greedy_by_size(gpu_num, models):
    """Models by size, the largest first, each where the resulting pressure is smallest."""
    ordered = sorted(models, key=lambda m: (m.model_size, m.req_rate / m.slo), reverse=True)
    return greedy_fill(gpu_num, ordered, lambda load, free: load / free)
