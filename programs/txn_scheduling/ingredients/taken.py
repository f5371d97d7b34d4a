# role: shared
# why: how many transactions are taken out at once decides how far a change can lead, wherever they are taken
TAKEN = 4


def taken(stretch, rng):
    """The transactions of a stretch that are taken out, in a random order."""
    return rng.sample(stretch, min(TAKEN, len(stretch)))
