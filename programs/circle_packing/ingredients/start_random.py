# role: constructor
# why: random centres reach local optima that no pattern leads to
# slots: POLISH = None
# wants: POLISH
# wire: add to STARTS
def start_random(n, rng):
    """n random centres."""
    return [(rng.random(), rng.random()) for _ in range(n)]
