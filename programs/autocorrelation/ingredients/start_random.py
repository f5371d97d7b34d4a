# role: start
# why: random heights are near no symmetric optimum
# wire: add to STARTS
ROUGHNESS = 0.5


def start_random(count, rng):
    """Heights around 1."""
    return 1 + ROUGHNESS * (rng.random(count) - 0.5)
