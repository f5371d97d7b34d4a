# role: acceptance
# why: a random walk over local optima never stays at one
# needs: pressure
# wire: set ACCEPT
def accept_always(new, current, progress, rng):
    """Accept every packing that has room."""
    return new < OVERFULL
