# role: acceptance
# why: losses accepted with a probability that falls with their size explore widely, then settle
# wire: set ACCEPT
import math

START_TEMPERATURE = 0.03


def accept_annealing(new, current, progress, rng):
    """Accept a relative loss with the probability of simulated annealing."""
    temperature = START_TEMPERATURE * (1 - progress) + 1e-9
    if new <= current:
        return True
    return current > 0 and rng.random() < math.exp(min(0.0, (1 - new / current) / temperature))
