# role: kick
# why: a stretch that is flattened gets a new shape, while the rest keeps its own
# wire: add to KICKS
BLOCK = 0.2


def kick_block(h, rng):
    """A random stretch of pieces set to its own mean, slightly rough."""
    size = max(1, int(BLOCK * len(h)))
    at = rng.integers(0, len(h) - size + 1)
    h = h.copy()
    h[at : at + size] = h[at : at + size].mean() + 0.1 * (rng.random(size) - 0.5)
    return h
