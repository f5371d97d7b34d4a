# role: reserve
# why: many gaps are over in a few ticks, before a start of on-demand has paid
# needs: lasted
# wire: add to RESERVES
SHORT_GAP = 1.0
SHORT_CREDIT = 1.0


def reserve_short_gap(now):
    """A fixed number of ticks less while the gap is young, unless on-demand runs."""
    return -SHORT_CREDIT if lasted(now) <= SHORT_GAP and now["running"] is None else 0.0
