# role: kick
# why: a little noise on every height breaks ties and frees heights that are stuck at a limit
# wire: add to KICKS
NOISE = 0.05


def kick_noise(h, rng):
    """Every height changed by a random amount."""
    return h + NOISE * rng.normal(size=len(h))
