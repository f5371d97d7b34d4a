# role: constructor
# why: judging a GPU by the pressure it would have, not by the one it has, sees what each model costs
# needs: greedy_fill, better_placement
# wire: result = better_placement({result}, greedy_by_load(gpu_num, models))
def greedy_by_load(gpu_num, models):
    """Models by load, the heaviest first, each where the resulting pressure is smallest."""
    ordered = sorted(models, key=lambda m: m.req_rate / m.slo, reverse=True)
    return greedy_fill(gpu_num, ordered, lambda load, free: load / free)
