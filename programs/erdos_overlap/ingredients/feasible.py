# role: shared
# why: a step leaves the heights that are allowed, and the nearest ones that are allowed lose least of it
HIGHEST = 1 - 1e-9


def feasible(h):
    """The nearest heights from 0 to HIGHEST with a mean of 1/2: all moved by one amount, then clipped."""
    low, high = -h.max(), 1 - h.min()
    for _ in range(60):
        middle = (low + high) / 2
        if np.clip(h + middle, 0, HIGHEST).mean() < 0.5:
            low = middle
        else:
            high = middle
    return np.clip(h + high, 0, HIGHEST)
