# role: loop
# why: a kick followed by a short descent leaves a local optimum without losing what was found
# needs: better_order, settle, effort
# slots: KICKS = ()
# wants: KICKS
# wire: result = kick_and_settle(transactions, {result})
import random


def kick_and_settle(transactions, order):
    """The best order met while kicking and settling; each round begins at the best one so far."""
    rng = random.Random(13)
    mirror = mirrored(transactions)
    best = list(order)
    for _ in range(turns(order, 0.1) if KICKS else 0):
        kicked = rng.choice(KICKS)(best, rng)
        tried = rng.sample(kicked, min(20, len(kicked)))
        best = better_order(transactions, best, settled(transactions, mirror, kicked, tried, rng))
    return best
