"""Equal heights: the overlap is largest without a shift, and exactly one half."""


# EVOLVE-BLOCK-START
def heights(max_n):
    """Return max_n heights of 1."""
    return [1.0] * max_n
# EVOLVE-BLOCK-END
