"""The program to begin with: an old bin before a new one, a full one before an empty one, and better no little room
left over. What stands between the markers may change."""

# EVOLVE-BLOCK-START
AGE = 0.1
ROOM = 0.1
LITTLE = 12
AVOIDED = 5.0


def choose_bin(size, room, capacity):
    """The index of the bin that the item goes to; len(room) opens a new one."""
    chosen, least = len(room), float("inf")
    for index, left in enumerate(room):
        after = left - size
        if after < 0:
            continue
        price = AGE * index + ROOM * after + (AVOIDED if 0 < after < LITTLE else 0)
        if price < least:
            chosen, least = index, price
    return chosen
# EVOLVE-BLOCK-END
