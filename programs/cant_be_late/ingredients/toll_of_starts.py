# role: toll
# why: to go to spot and back takes two starts, and there must be slack for them
# wire: add to TOLLS
TOLL_STARTS = 1.0


def toll_of_starts(now):
    """The overhead of some starts."""
    return TOLL_STARTS * now["overhead"]
