"""First fit: each item goes into the oldest open bin that has room for it."""


# EVOLVE-BLOCK-START
def place(item, capacity, free):
    """The index of the open bin that the item goes into, or -1 for a new one; free[i] is the room left in bin i."""
    chosen = -1
    for index, room in enumerate(free):
        if room >= item:
            chosen = index
            break
    return chosen
# EVOLVE-BLOCK-END
