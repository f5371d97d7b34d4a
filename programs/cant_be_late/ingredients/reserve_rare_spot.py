# role: reserve
# why: where spot was seldom there so far, less of the work can be left to it
# wire: add to RESERVES
RARE_SHARE = 0.1


def reserve_rare_spot(now):
    """A share of the work left, in proportion to how often spot was gone so far."""
    return RARE_SHARE * now["work_left"] * now["seen"].count(False) / len(now["seen"])
