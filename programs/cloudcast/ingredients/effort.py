# role: shared
# why: whether more work pays is one question for all loops, and its answer one number
EFFORT = 1


def turns(destinations, per_destination):
    """How many turns a loop takes: so many per destination, times an effort that all loops share."""
    return round(EFFORT * per_destination * len(destinations))
