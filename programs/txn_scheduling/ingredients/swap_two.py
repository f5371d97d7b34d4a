# role: neighbourhood
# why: two transactions that trade places leave the rest of the order as it is
# wire: add to MOVES
def swap_two(order, rng):
    """The order with two random transactions exchanged."""
    order = order[:]
    first, second = rng.randrange(len(order)), rng.randrange(len(order))
    order[first], order[second] = order[second], order[first]
    return order
