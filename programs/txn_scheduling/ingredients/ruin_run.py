# role: ruin
# why: transactions in a row wait for each other, and only together can they leave
# needs: taken
# wire: add to RUINS
def ruin_run(order, rng):
    """A random run of transactions, shuffled."""
    begin = rng.randint(0, max(0, len(order) - TAKEN))
    return taken(order[begin : begin + TAKEN], rng)
