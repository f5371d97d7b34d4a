# role: perturbation
# why: taking out any circle lets its neighbours grow, and putting it elsewhere changes who touches whom
# slots: POLISH = None
# wants: POLISH
# wire: add to KICKS
MOVED = 1


def kick_relocate_any(packing, rng):
    """The centres, some of them somewhere else."""
    moved = set(rng.sample(range(len(packing)), min(MOVED, len(packing))))
    return [(rng.random(), rng.random()) if k in moved else circle[:2] for k, circle in enumerate(packing)]
