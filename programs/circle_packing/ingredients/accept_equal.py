# role: acceptance
# why: packings of equal worth are mirror images or loose circles, and moving between them costs nothing
# wire: set ACCEPT
def accept_equal(new, current, progress, rng):
    """Accept what is worth as much."""
    return new >= current - 1e-9
