"""Half a period of a cosine, falling from one end to the other: what is lopsided has a lower peak than a hump."""

import math

DEPTH = 0.4


# EVOLVE-BLOCK-START
def heights(max_n):
    """Return max_n heights 1 + DEPTH * cos(x), with x from 0 to pi over the interval."""
    return [1 + DEPTH * math.cos(math.pi * (i + 0.5) / max_n) for i in range(max_n)]
# EVOLVE-BLOCK-END
