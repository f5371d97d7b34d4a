# role: loop
# why: a kick followed by a short descent leaves a local optimum without losing what was found
# needs: plans, trees, effort
# slots: MOVES = (), KICKS = ()
# wants: MOVES, KICKS
# wire: result = kick_and_settle(source, destinations, links, job, {result})
import random


def kick_and_settle(source, destinations, links, job, routes):
    """The best routes met while kicking and settling; each round begins at the best tree so far."""
    rng, plan, regions = random.Random(17), plan_of(source, routes), regions_of(links)
    best, lowest = plan, cost_of(plan, destinations, links, job)
    for _ in range(turns(destinations, 2) if MOVES and KICKS else 0):
        tree = pruned(rng.choice(KICKS)(best[0], destinations, links, regions, rng), destinations)
        cost = cost_of([tree] * len(plan), destinations, links, job)
        for _ in range(40):
            changed = pruned(rng.choice(MOVES)(tree, destinations, links, regions, rng), destinations)
            new = cost_of([changed] * len(plan), destinations, links, job)
            if new <= cost:
                tree, cost = changed, new
        if cost < lowest:
            best, lowest = [tree] * len(plan), cost
    return routes_of(best, destinations)
