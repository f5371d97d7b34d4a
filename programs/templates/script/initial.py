"""The program to begin with: a polynomial. What stands between the markers may change."""

# EVOLVE-BLOCK-START
FIRST = 0.99
THIRD = -0.155
FIFTH = 0.006


def sine(x):
    """About the sine of x, from 0 to 1.57."""
    square = x * x
    return x * (FIRST + square * (THIRD + square * FIFTH))


# EVOLVE-BLOCK-END
