"""A step function of equal heights on a few pieces: its autoconvolution is a triangle, and C is exactly 2."""

import numpy as np


# EVOLVE-BLOCK-START
PIECES = 20


def heights(max_n):
    """Return a list of 1 to max_n heights, none negative, with a small C."""
    f = np.ones(min(PIECES, max_n))
    return f.tolist()
# EVOLVE-BLOCK-END
