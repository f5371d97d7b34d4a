# role: kick
# why: a little noise on every height breaks ties and raises heights that are stuck at zero
# wire: add to KICKS
NOISE = 0.1


def kick_noise(f, rng):
    """Every height changed by a random factor, and lifted a little."""
    return f * np.exp(NOISE * rng.normal(size=len(f))) + NOISE * 0.1 * rng.random(len(f))
