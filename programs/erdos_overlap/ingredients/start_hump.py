# role: start
# why: heights that fall towards both ends overlap less with what lies outside
# wire: add to STARTS
HUMP = 0.4


def start_hump(count, rng):
    """Half a wave, highest in the middle, slightly rough."""
    return 0.5 - HUMP * np.cos(2 * np.pi * (np.arange(count) + 0.5) / count) + 0.05 * rng.random(count)
