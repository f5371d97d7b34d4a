# role: acceptance
# why: a small loss that shrinks over time lets the search leave a local optimum
# wire: set ACCEPT
ACCEPTED_LOSS = 0.05


def accept_threshold(new, current, progress, rng):
    """Accept a relative loss below a threshold that falls to nothing."""
    return new <= current * (1 + ACCEPTED_LOSS * (1 - progress))
