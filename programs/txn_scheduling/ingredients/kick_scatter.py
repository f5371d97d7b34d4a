# role: perturbation
# why: several transactions moved at once reach orders that single moves do not pass through
# wire: add to KICKS
def kick_scatter(order, rng):
    """The order with several random transactions in random places."""
    order = order[:]
    for _ in range(6):
        order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
    return order
