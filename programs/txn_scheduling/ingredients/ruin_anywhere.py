# role: ruin
# why: transactions that have nothing to do with each other can trade places all over the order
# wire: add to RUINS
TAKEN_ANYWHERE = 4


def ruin_anywhere(order, rng):
    """Some random transactions."""
    return rng.sample(order, min(TAKEN_ANYWHERE, len(order)))
