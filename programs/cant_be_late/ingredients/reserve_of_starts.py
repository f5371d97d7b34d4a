# role: reserve
# why: slack for a few starts lets the job go to spot and come back
# wire: add to RESERVES
STARTS = 1.0


def reserve_of_starts(now):
    """The overhead of some starts."""
    return STARTS * now["overhead"]
