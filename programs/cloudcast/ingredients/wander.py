# role: loop
# why: many small changes, of which the acceptable ones are kept, lead a long way from where a tree began
# needs: plans, trees, effort
# slots: MOVES = (), ACCEPT = None
# wants: MOVES
# wire: result = wander(source, destinations, links, job, {result})
import random


def wander(source, destinations, links, job, routes):
    """The best routes met on a walk of random moves, with one tree for all parts."""
    rng, plan, regions = random.Random(11), plan_of(source, routes), regions_of(links)
    best, lowest = plan, cost_of(plan, destinations, links, job)
    tree, cost = plan[0], cost_of([plan[0]] * len(plan), destinations, links, job)
    steps = turns(destinations, 100) if MOVES else 0
    for step in range(steps):
        changed = pruned(rng.choice(MOVES)(tree, destinations, links, regions, rng), destinations)
        new = cost_of([changed] * len(plan), destinations, links, job)
        if new < cost or (ACCEPT is not None and ACCEPT(new, cost, step / steps, rng)):
            tree, cost = changed, new
            if cost < lowest:
                best, lowest = [tree] * len(plan), cost
    return routes_of(best, destinations)
