# role: loop
# why: a kick followed by a short descent leaves a local optimum without losing what was found
# needs: better_order
# slots: MOVES = (), KICKS = ()
# wants: MOVES, KICKS
# wire: result = kick_and_settle(transactions, {result})
import random

ROUNDS = 10
SETTLING_TRIALS = 200


def kick_and_settle(transactions, order):
    """The best order met while kicking and settling; each round begins at the best one so far."""
    rng = random.Random(13)
    best = list(order)
    lowest = cost_of(transactions, best)
    for _ in range(ROUNDS if MOVES and KICKS else 0):
        current = rng.choice(KICKS)(best, rng)
        cost = cost_of(transactions, current)
        for _ in range(SETTLING_TRIALS):
            changed = rng.choice(MOVES)(current, rng)
            new = cost_of(transactions, changed, cost)
            if new < cost:
                current, cost = changed, new
        if cost < lowest:
            best, lowest = current, cost
    return best
