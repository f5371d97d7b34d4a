"""A line through points."""

import numpy as np

# EVOLVE-BLOCK-START
SLOPE = 1.0
OFFSET = 0.0


def line(x):
    return SLOPE * x + OFFSET
# EVOLVE-BLOCK-END


def run_experiment(noise):
    """The values of the line at four places."""
    return line(np.arange(4) + noise)
