# EVOLVE-BLOCK-START
def pick(items):
    """Pick a small item."""
    index = 0
    # next
    return {"index": index, "cost": items[index]}
# EVOLVE-BLOCK-END
