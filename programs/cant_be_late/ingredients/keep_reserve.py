# role: loop
# why: slack that is kept while spot is gone pays later for going back to spot, where greedy has none left
# needs: slack, in_time
# slots: RESERVES = (), TOLLS = ()
# wants: RESERVES
# wire: result = keep_reserve({result}, now)
def keep_reserve(choice, now):
    """On-demand while spot is gone and the slack is below the reserve, or while it does not pay the toll back to spot.

    A reserve and a toll are functions of `now`, in ticks of slack; all of them are added up.
    """
    if not RESERVES:
        return choice
    if not now["spot"]:
        wanted = "on_demand" if slack(now) < sum([reserve(now) for reserve in RESERVES]) else "wait"
    elif now["running"] == "on_demand" and slack(now) < sum([toll(now) for toll in TOLLS]):
        wanted = "on_demand"
    else:
        wanted = "spot"
    return in_time(wanted, now)
