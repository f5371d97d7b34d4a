# role: step
# why: slopes that turn round from step to step cancel, those that last add up
# wire: set STEP
MOMENTUM, MOMENTUM_RATE = 0.9, 0.02


def step_momentum(h, slopes, progress, memory):
    """Against a moving mean of the slopes, at most MOMENTUM_RATE (1 - progress) for a height."""
    mean = memory["mean"] = MOMENTUM * memory.get("mean", 0.0) + (1 - MOMENTUM) * slopes
    return h - MOMENTUM_RATE * (1 - progress) * mean / (np.abs(mean).max() + 1e-300)
