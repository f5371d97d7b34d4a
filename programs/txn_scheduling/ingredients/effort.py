# role: shared
# why: whether more work pays is one question for all loops, and its answer one number
EFFORT = 1


def turns(order, per_transaction):
    """How many turns a loop takes: so many per transaction, times an effort that all loops share."""
    return round(EFFORT * per_transaction * len(order))
