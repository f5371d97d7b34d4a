"""First fit."""


# EVOLVE-BLOCK-START
def choose_bin(size, room, capacity):
    """The index of the bin that the item goes to; len(room) opens a new one."""
    for index, left in enumerate(room):
        if left >= size:
            return index
    return len(room)
# EVOLVE-BLOCK-END
