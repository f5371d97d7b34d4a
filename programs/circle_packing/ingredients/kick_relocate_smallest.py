# role: perturbation
# why: the smallest circle adds least where it is, and may be worth more anywhere else
# slots: POLISH = None
# wants: POLISH
# wire: add to KICKS
def kick_relocate_smallest(packing, rng):
    """The centres, that of the smallest circle somewhere else."""
    smallest = min(range(len(packing)), key=lambda k: packing[k][2])
    return [(rng.random(), rng.random()) if k == smallest else circle[:2] for k, circle in enumerate(packing)]
