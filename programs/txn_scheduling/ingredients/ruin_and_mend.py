# role: loop
# why: several transactions taken out and put back, each where it fits best, change more than moves can without loss
# needs: better_order, best_place, effort
# slots: RUINS = (), ACCEPT = None
# wants: RUINS
# wire: result = ruin_and_mend(transactions, {result})
import random


def ruin_and_mend(transactions, order):
    """The best order met while transactions are taken out and put back."""
    rng = random.Random(17)
    mirror = mirrored(transactions)
    current = best = list(order)
    cost = lowest = cost_of(transactions, best)
    mendings = turns(order, 0.5) if RUINS else 0
    for turn in range(mendings):
        out = rng.choice(RUINS)(current, rng)
        changed = [index for index in current if index not in out]
        for index in out:
            changed = with_best_place(transactions, mirror, changed, index, rng)
        new = cost_of(transactions, changed)
        if new < cost or (ACCEPT is not None and ACCEPT(new, cost, turn / mendings, rng)):
            current, cost = changed, new
            if cost < lowest:
                best, lowest = current, cost
    return best
