"""Next to the evaluator, in a package of its own."""

import numpy as np


def nearness(found, wanted):
    """1 where they are equal, near 0 where they are far apart."""
    return float(1 / (1 + np.abs(found - wanted).sum()))
