# role: loop
# why: parts on different trees share out the flow of the slowest links
# needs: plans, trees, effort
# slots: MOVES = ()
# wants: MOVES
# wire: result = split_parts(source, destinations, links, job, {result})
import random


def split_parts(source, destinations, links, job, routes):
    """Routes on which some parts go along a changed tree, as often as that costs less."""
    rng, plan, regions = random.Random(13), plan_of(source, routes), regions_of(links)
    cost = cost_of(plan, destinations, links, job)
    for _ in range(turns(destinations, 60) if MOVES else 0):
        tree = rng.choice(plan)
        changed = pruned(rng.choice(MOVES)(tree, destinations, links, regions, rng), destinations)
        same = [part for part, other in enumerate(plan) if other is tree]
        moved = set(rng.sample(same, rng.randint(1, len(same))))
        tried = [changed if part in moved else other for part, other in enumerate(plan)]
        new = cost_of(tried, destinations, links, job)
        if new <= cost:
            plan, cost = tried, new
    return routes_of(plan, destinations)
