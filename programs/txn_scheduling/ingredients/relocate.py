# role: neighbourhood
# why: one transaction in another place is the smallest change of an order
# wire: add to MOVES
def relocate(order, rng):
    """The order with a random transaction in a random place."""
    order = order[:]
    order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
    return order
