# role: start
# why: random heights are near no optimum in particular
# wire: add to STARTS
ROUGHNESS = 0.5


def start_random(count, rng):
    """Heights around 1/2."""
    return 0.5 + ROUGHNESS * (rng.random(count) - 0.5)
