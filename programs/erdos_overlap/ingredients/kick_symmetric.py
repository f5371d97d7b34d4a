# role: kick
# why: the problem is the same from both ends, so that the mean of both readings may be better than each
# wire: add to KICKS
def kick_symmetric(h, rng):
    """The mean of the heights and their reverse."""
    return (h + h[::-1]) / 2
