# role: acceptance
# why: a loss that is accepted early and refused late crosses from one family of packings to another
# wire: set ACCEPT
import math

WARMTH = 0.003


def accept_annealing(new, current, progress, rng):
    """Accept a loss with a probability that falls with it and with the progress."""
    return rng.random() < math.exp(min(0.0, new - current) / (WARMTH * (1 - progress) + 1e-9))
