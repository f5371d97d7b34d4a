# role: acceptance
# why: steps to an order that is as good wander over the plateaus of a maximum
# wire: set ACCEPT
def accept_equal(new, current, progress, rng):
    """Accept what is not worse."""
    return new <= current
