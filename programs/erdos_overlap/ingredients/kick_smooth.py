# role: kick
# why: smoothed heights forget the teeth of the last descent and keep its shape
# wire: add to KICKS
def kick_smooth(h, rng):
    """Every height with a quarter of its neighbours on both sides, and a little noise."""
    wide = np.pad(h, 1, mode="edge")
    return (wide[:-2] + 2 * h + wide[2:]) / 4 + 0.02 * rng.random(len(h))
