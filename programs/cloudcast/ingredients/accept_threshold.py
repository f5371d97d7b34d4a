# role: acceptance
# why: small losses taken for certain leave a local optimum, and a threshold that falls ends in one
# wire: set ACCEPT
START_THRESHOLD = 1.0


def accept_threshold(new, current, progress, rng):
    """Accept a loss, in US$, below a threshold that falls to nothing."""
    return new < current + START_THRESHOLD * (1 - progress)
