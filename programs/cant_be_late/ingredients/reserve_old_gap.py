# role: reserve
# why: spot that has been gone for long is likely to stay away, and waiting for it loses slack
# needs: lasted
# wire: add to RESERVES
GAP_RESERVE = 1.0


def reserve_old_gap(now):
    """In proportion to how long spot has been gone."""
    return GAP_RESERVE * lasted(now)
