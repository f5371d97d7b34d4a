# role: ruin
# why: some transactions of a stretch give way to the others, which keep their order
# wire: add to RUINS
TAKEN_NEARBY = 4
STRETCH = 20


def ruin_nearby(order, rng):
    """Some random transactions of a random stretch."""
    begin = rng.randint(0, max(0, len(order) - STRETCH))
    stretch = order[begin : begin + STRETCH]
    return rng.sample(stretch, min(TAKEN_NEARBY, len(stretch)))
