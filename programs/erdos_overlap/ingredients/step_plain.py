# role: step
# why: a step down the slope with a largest change that shrinks to nothing
# wire: set STEP
PLAIN_RATE = 0.05


def step_plain(h, slopes, progress, memory):
    """Against the slope, at most PLAIN_RATE (1 - progress) for a height."""
    return h - PLAIN_RATE * (1 - progress) * slopes / (np.abs(slopes).max() + 1e-300)
