# EVOLVE-BLOCK-START
def pick(items):
    """The index of a small item."""
    index = 0
    # next
    return index
# EVOLVE-BLOCK-END
