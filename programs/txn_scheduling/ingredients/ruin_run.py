# role: ruin
# why: transactions in a row wait for each other, and only together can they leave
# wire: add to RUINS
TAKEN_IN_A_ROW = 4


def ruin_run(order, rng):
    """A random run of transactions, shuffled."""
    begin = rng.randint(0, max(0, len(order) - TAKEN_IN_A_ROW))
    run = order[begin : begin + TAKEN_IN_A_ROW]
    return rng.sample(run, len(run))
