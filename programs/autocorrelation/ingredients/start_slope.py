# role: start
# why: a lopsided function has a lower peak than a symmetric one
# wire: add to STARTS
TILT = 0.8


def start_slope(count, rng):
    """Heights that fall evenly from one end to the other, a little roughened."""
    return 1 + TILT * np.linspace(1, -1, count) / 2 + 0.1 * rng.random(count)
