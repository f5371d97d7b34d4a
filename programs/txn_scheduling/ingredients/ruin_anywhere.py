# role: ruin
# why: transactions that have nothing to do with each other can trade places all over the order
# needs: taken
# wire: add to RUINS
def ruin_anywhere(order, rng):
    """Some random transactions."""
    return taken(order, rng)
