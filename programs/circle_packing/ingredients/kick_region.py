# role: perturbation
# why: disturbing one part of the square keeps what is good elsewhere
# slots: POLISH = None
# wants: POLISH
# wire: add to KICKS
import math

REGION = 0.3
REGION_JITTER = 0.1


def kick_region(packing, rng):
    """The centres, those near a random point moved."""
    spot = rng.random(), rng.random()
    return [
        tuple(min(max(c + rng.gauss(0, REGION_JITTER), 0.01), 0.99) for c in (x, y))
        if math.dist((x, y), spot) < REGION
        else (x, y)
        for x, y, _ in packing
    ]
