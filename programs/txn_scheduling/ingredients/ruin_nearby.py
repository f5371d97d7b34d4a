# role: ruin
# why: some transactions of a stretch give way to the others, which keep their order
# needs: taken
# wire: add to RUINS
def ruin_nearby(order, rng):
    """Some random transactions of a random stretch."""
    begin = rng.randint(0, max(0, len(order) - 5 * TAKEN))
    return taken(order[begin : begin + 5 * TAKEN], rng)
