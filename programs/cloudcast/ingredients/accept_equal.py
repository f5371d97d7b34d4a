# role: acceptance
# why: steps to a tree that is as good wander over the plateaus of a maximum
# wire: set ACCEPT
def accept_equal(new, current, progress, rng):
    """Accept what is not worse."""
    return new <= current
