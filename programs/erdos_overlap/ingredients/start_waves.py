# role: start
# why: a few random waves make wide humps and gaps, which single heights do not
# wire: add to STARTS
WAVES = 5


def start_waves(count, rng):
    """A sum of cosines of random phase and weight."""
    x = (np.arange(count) + 0.5) / count
    return 0.5 + sum(rng.normal() * np.cos(np.pi * k * x + 6.3 * rng.random()) / k for k in range(1, WAVES + 1)) / 2
