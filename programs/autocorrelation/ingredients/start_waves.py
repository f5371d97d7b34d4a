# role: start
# why: a few random waves make wide humps and gaps, which single heights do not
# wire: add to STARTS
WAVES = 5


def start_waves(count, rng):
    """The square of a sum of cosines of random phase and weight: never negative."""
    x = (np.arange(count) + 0.5) / count
    total = 1 + sum(rng.normal() * np.cos(np.pi * k * x + 6.3 * rng.random()) / k for k in range(1, WAVES + 1))
    return total**2 + 0.01
