"""Nine steps of whole heights, highest in the middle and nothing at both ends: the overlap is 0.38667.

The best symmetric list of nine whole numbers from 0 to 8: few enough to try all of them.
"""


# EVOLVE-BLOCK-START
def heights(max_n):
    """Return nine heights; equal ones where fewer are allowed."""
    return [0, 3, 4, 5, 6, 5, 4, 3, 0] if max_n >= 9 else [1] * max_n
# EVOLVE-BLOCK-END
