# role: step
# why: heights that are multiplied stay positive, and small ones change by little
# wire: set STEP
MULTIPLIED_RATE = 0.05


def step_multiplied(f, slopes, progress, memory):
    """Every height times exp(-rate * slope), as in multiplicative weights."""
    return f * np.exp(-MULTIPLIED_RATE * (1 - progress) * slopes / (np.abs(slopes).max() + 1e-300))
