"""Weights of a few points; the evaluator wants their mean near a target."""

import numpy as np

# EVOLVE-BLOCK-START
SHIFT = 0.5
SCALE = 2.0


def weights(n):
    """n weights."""
    return SCALE * np.arange(n) / n + SHIFT
# EVOLVE-BLOCK-END
