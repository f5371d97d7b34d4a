# role: neighbourhood
# why: an order that is good already is mostly improved by moves over a short distance
# wire: add to MOVES
def relocate_near(order, rng):
    """The order with a random transaction a few places earlier or later."""
    order = order[:]
    place = rng.randrange(len(order))
    moved = order.pop(place)
    order.insert(max(0, place + rng.randint(-8, 8)), moved)
    return order
