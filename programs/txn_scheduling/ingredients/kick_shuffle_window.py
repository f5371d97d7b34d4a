# role: perturbation
# why: a stretch of the order dealt out anew leaves what surrounds it intact
# wire: add to KICKS
WINDOW = 10


def kick_shuffle_window(order, rng):
    """The order with a short stretch shuffled."""
    begin = rng.randrange(len(order))
    window = order[begin : begin + WINDOW]
    rng.shuffle(window)
    return order[:begin] + window + order[begin + len(window) :]
