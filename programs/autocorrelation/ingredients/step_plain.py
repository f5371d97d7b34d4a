# role: step
# why: a step down the slope with a largest change that shrinks to nothing
# wire: set STEP
PLAIN_RATE = 0.05


def step_plain(f, slopes, progress, memory):
    """Against the slope, at most PLAIN_RATE (1 - progress) for a height; nothing below zero."""
    return np.maximum(f - PLAIN_RATE * (1 - progress) * slopes / (np.abs(slopes).max() + 1e-300), 0)
