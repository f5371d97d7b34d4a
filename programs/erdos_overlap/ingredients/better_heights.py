# role: shared
# why: another start can only help when the better of both results is kept
# needs: overlaps, feasible
def better_heights(first, second):
    """The one of two lists of heights with the smaller overlap, the first one of equals."""
    return second if overlap(feasible(np.array(second))) < overlap(feasible(np.array(first))) else first
