# role: reserve
# why: slack that is spent evenly over the time is there for the end as for the beginning
# wire: add to RESERVES
TIME_SHARE = 0.1


def reserve_of_time(now):
    """A share of the ticks until the deadline."""
    return TIME_SHARE * (now["deadline"] - now["tick"])
