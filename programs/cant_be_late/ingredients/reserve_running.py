# role: reserve
# why: a machine that runs needs no start, so that on-demand goes on where it would not be started
# wire: add to RESERVES
RUNNING_SHARE = 0.1


def reserve_running(now):
    """For each tick of a start a share of the work left, while on-demand runs."""
    return RUNNING_SHARE * now["overhead"] * now["work_left"] if now["running"] == "on_demand" else 0.0
