# role: reserve
# why: the more work is left, the more often spot will still go, and each time costs slack
# wire: add to RESERVES
WORK_SHARE = 0.1


def reserve_of_work(now):
    """A share of the work that is left."""
    return WORK_SHARE * now["work_left"]
