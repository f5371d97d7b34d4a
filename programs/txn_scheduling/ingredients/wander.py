# role: loop
# why: many small changes, of which the acceptable ones are kept, lead a long way from where an order began
# needs: better_order, effort
# slots: MOVES = (), ACCEPT = None
# wants: MOVES
# wire: result = wander(transactions, {result})
import random


def wander(transactions, order):
    """The best order met on a walk of random moves."""
    rng = random.Random(11)
    current = best = list(order)
    cost = lowest = cost_of(transactions, best)
    trials = turns(order, 5) if MOVES else 0
    for trial in range(trials):
        changed = rng.choice(MOVES)(current, rng)
        new = cost_of(transactions, changed, cost + 2)
        if new < cost or (ACCEPT is not None and ACCEPT(new, cost, trial / trials, rng)):
            current, cost = changed, new
            if cost < lowest:
                best, lowest = current, cost
    return best
