# role: acceptance
# why: a random walk over local optima never stays at one
# wire: set ACCEPT
def accept_always(new, current, progress, rng):
    """Accept every packing that has room."""
    return new < float("inf")
