"""Best fit: each item goes into the open bin with room for it that it fills most."""


# EVOLVE-BLOCK-START
def place(item, capacity, free):
    """The index of the open bin that the item goes into, or -1 for a new one; free[i] is the room left in bin i."""
    chosen, least = -1, capacity + 1
    for index, room in enumerate(free):
        if item <= room < least:
            chosen, least = index, room
    return chosen
# EVOLVE-BLOCK-END
