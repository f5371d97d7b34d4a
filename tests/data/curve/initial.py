"""A polynomial."""

# EVOLVE-BLOCK-START
A = 1.0
B = 0.5
C = 0.25
D = 0.125


def guess(x):
    return A + B * x + C * x * x + D * x * x * x
# EVOLVE-BLOCK-END
