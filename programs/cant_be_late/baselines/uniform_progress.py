"""Uniform progress: on-demand whenever the work done is behind its share of the time (Wu et al., NSDI 2024).

Spot is used until it is gone. On-demand, once started, stays until the work is ahead by two starts. The last rule is
that of greedy: on-demand where any other choice could miss the deadline.
"""


# EVOLVE-BLOCK-START
def expected(now, tick):
    """The ticks of work that uniform progress has done by a tick."""
    return now["work"] * min(1, tick / now["deadline"])


def decide(now):
    """What runs in this tick: "spot", "on_demand" or "wait"."""
    done = now["work"] - now["work_left"]
    if now["running"] == "on_demand":
        behind = done < expected(now, now["tick"] + 2 * now["overhead"])
    else:
        behind = not now["spot"] and done < expected(now, now["tick"])
    choice = "on_demand" if behind else "spot" if now["spot"] else "wait"
    left = now["work_left"]
    if choice == "spot" and now["running"] == "spot" and now["starting"] == 0:
        left -= 1  # spot that works is one tick of work further, even if it is gone after this tick
    if left > 0 and now["tick"] + 1 + now["overhead"] + left > now["deadline"]:
        choice = "on_demand"  # after this tick, a start of on-demand would come too late
    return choice
# EVOLVE-BLOCK-END
