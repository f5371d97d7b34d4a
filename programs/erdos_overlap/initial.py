"""A step function of equal heights: with itself turned over it overlaps by half."""

import numpy as np


# EVOLVE-BLOCK-START
PIECES = 30


def heights(max_n):
    """Return a list of 1 to max_n heights, none negative, with a small overlap."""
    h = np.ones(min(PIECES, max_n))
    return h.tolist()
# EVOLVE-BLOCK-END
