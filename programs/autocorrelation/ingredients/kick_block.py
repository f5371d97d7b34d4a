# role: kick
# why: a stretch that is flattened is shaped anew, while the rest keeps what it learnt
# wire: add to KICKS
BLOCK = 0.15


def kick_block(f, rng):
    """A random stretch of pieces set to its own mean, slightly rough."""
    size = max(1, int(BLOCK * len(f)))
    at = rng.integers(0, len(f) - size + 1)
    f = f.copy()
    f[at : at + size] = (f[at : at + size].mean() + 0.05) * (0.9 + 0.2 * rng.random(size))
    return f
