"""On-demand only, from the first tick to the last: never late, and never cheap."""


# EVOLVE-BLOCK-START
def decide(now):
    """What runs in this tick: "spot", "on_demand" or "wait"."""
    choice = "on_demand"
    return choice
# EVOLVE-BLOCK-END
