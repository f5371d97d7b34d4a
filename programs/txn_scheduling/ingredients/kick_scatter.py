# role: perturbation
# why: several transactions moved at once reach orders that single moves do not pass through
# wire: add to KICKS
SCATTERED = 6


def kick_scatter(order, rng):
    """The order with several random transactions in random places."""
    order = order[:]
    for _ in range(SCATTERED):
        order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
    return order
