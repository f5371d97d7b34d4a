# role: acceptance
# why: losses accepted with a probability that falls with their size explore widely, then settle
# wire: set ACCEPT
import math

START_TEMPERATURE = 1.0


def accept_annealing(new, current, progress, rng):
    """Accept a loss, in US$, with the probability of simulated annealing."""
    temperature = START_TEMPERATURE * (1 - progress) + 1e-9
    return rng.random() < math.exp(min(0.0, (current - new) / temperature))
