# role: shared
# why: loops change trees, and a program answers with paths
# needs: cost_of
def plan_of(source, routes):
    """A tree for each part of some routes; equal ones are one object."""
    known, plan = {}, []
    for part in range(len(next(iter(routes.values())))):
        tree = {source: None}
        for paths in routes.values():
            for before, region in zip(paths[part], paths[part][1:]):
                tree.setdefault(region, before)
        plan.append(known.setdefault(tuple(sorted(tree.items(), key=lambda item: item[0])), tree))
    return plan


def routes_of(plan, destinations):
    """The paths of a plan: a list with one for each part, by destination."""
    return {destination: [path_to(tree, destination) for tree in plan] for destination in destinations}


def cheaper(first, second, source, destinations, links, job):
    """The routes of the two that cost less; the first ones of equals, and the second ones where there are no first."""
    if first is None:
        return second
    costs = [cost_of(plan_of(source, routes), destinations, links, job) for routes in (first, second)]
    return second if costs[1] < costs[0] else first
