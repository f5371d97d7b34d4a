# role: start
# why: a few tall pieces over a low floor are far from what descents from flat heights reach
# wire: add to STARTS
SPIKES = 0.2


def start_spikes(count, rng):
    """A share of the heights ten times as high as the others."""
    return np.where(rng.random(count) < SPIKES, 1.0, 0.1)
