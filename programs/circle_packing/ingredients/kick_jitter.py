# role: perturbation
# why: a small move of every centre leaves a local optimum for one nearby
# slots: POLISH = None
# wants: POLISH
# wire: add to KICKS
JITTER = 0.05


def kick_jitter(packing, rng):
    """All centres, each moved a little."""
    return [tuple(min(max(c + rng.gauss(0, JITTER), 0.01), 0.99) for c in (x, y)) for x, y, _ in packing]
