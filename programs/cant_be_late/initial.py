"""Greedy, the baseline: spot whenever it is there, and on-demand once waiting any longer could miss the deadline."""


# EVOLVE-BLOCK-START
def decide(now):
    """What runs in this tick: "spot", "on_demand" or "wait"."""
    choice = "spot" if now["spot"] else "wait"
    left = now["work_left"]
    if choice == "spot" and now["running"] == "spot" and now["starting"] == 0:
        left -= 1  # spot that works is one tick of work further, even if it is gone after this tick
    if left > 0 and now["tick"] + 1 + now["overhead"] + left > now["deadline"]:
        choice = "on_demand"  # after this tick, a start of on-demand would come too late
    return choice
# EVOLVE-BLOCK-END
