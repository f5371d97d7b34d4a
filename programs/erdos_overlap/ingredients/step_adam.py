# role: step
# why: every height has a pace of its own, by how much its slope varies
# wire: set STEP
ADAM_RATE = 0.02


def step_adam(h, slopes, progress, memory):
    """A step of Adam (Kingma and Ba 2015, arXiv 1412.6980)."""
    count = memory["count"] = memory.get("count", 0) + 1
    mean = memory["mean"] = 0.9 * memory.get("mean", 0.0) + 0.1 * slopes
    spread = memory["spread"] = 0.99 * memory.get("spread", 0.0) + 0.01 * slopes**2
    pace = np.sqrt(spread / (1 - 0.99**count)) + 1e-12
    return h - ADAM_RATE * (1 - progress) * mean / (1 - 0.9**count) / pace
