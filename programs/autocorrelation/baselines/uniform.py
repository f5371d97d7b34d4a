"""Equal heights: the autoconvolution is a triangle, and C is exactly 2 however many pieces there are."""


# EVOLVE-BLOCK-START
def heights(max_n):
    """Return max_n heights of 1."""
    return [1.0] * max_n
# EVOLVE-BLOCK-END
