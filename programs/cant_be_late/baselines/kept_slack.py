"""Kept slack: on-demand starts while there is slack left for going back to spot.

The slack is what may be lost to waiting and to starts before on-demand must run to the end. Its share of the work left
decides. Longer starts need less slack to begin with on-demand and more to leave it, and spot that has been there for
long is always taken. The constants were chosen by hand on 480 fresh traces of the recipe of `single`.
"""


# EVOLVE-BLOCK-START
BEGIN, STAY, LEAVE = 0.18, 0.4, 0.03
LONG = 14


def decide(now):
    """What runs in this tick: "spot", "on_demand" or "wait"."""
    left, start = now["work_left"], now["overhead"]
    share = (now["deadline"] - now["tick"] - start - left) / left
    on_demand = now["running"] == "on_demand"
    if now["spot"]:
        young = False in now["seen"][-LONG:]
        choice = "on_demand" if on_demand and young and share <= LEAVE * start**2 else "spot"
    elif share <= (STAY * start if on_demand else BEGIN / max(1, start) ** 0.6):
        choice = "on_demand"
    else:
        choice = "wait"
    if choice == "spot" and now["running"] == "spot" and now["starting"] == 0:
        left -= 1  # spot that works is one tick of work further, even if it is gone after this tick
    if left > 0 and now["tick"] + 1 + start + left > now["deadline"]:
        choice = "on_demand"  # after this tick, a start of on-demand would come too late
    return choice
# EVOLVE-BLOCK-END
