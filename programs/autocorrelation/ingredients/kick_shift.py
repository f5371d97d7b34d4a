# role: kick
# why: heights moved along by a piece or two keep their shape and meet other sums
# wire: add to KICKS
SHIFT = 2


def kick_shift(f, rng):
    """All heights moved by up to SHIFT pieces; those that fall off one end come back as the mean at the other."""
    by = int(rng.integers(1, SHIFT + 1))
    return np.concatenate([np.full(by, f.mean()), f])[: len(f)] + 0.01 * rng.random(len(f))
