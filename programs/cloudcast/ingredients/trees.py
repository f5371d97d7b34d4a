# role: shared
# why: moves must never make a cycle, nor leave a relay that leads nowhere
def behind(tree, region):
    """The regions whose path leads through one, and itself."""
    reached = {region}
    waiting = [region]
    while waiting:
        before = waiting.pop()
        for other in tree:
            if tree[other] == before:
                reached.add(other)
                waiting.append(other)
    return reached


def pruned(tree, destinations):
    """The tree without relays that lead to no destination."""
    tree, kept = dict(tree), set(destinations)
    while True:
        used = set(tree.values()) | kept
        idle = [region for region in tree if region not in used and tree[region] is not None]
        if not idle:
            return tree
        for region in idle:
            del tree[region]


def relays_of(tree, destinations):
    """The regions of a tree that are neither its source nor destinations, in order."""
    return sorted(region for region in tree if tree[region] is not None and region not in destinations)


def regions_of(links):
    """All regions, in order."""
    return sorted({region for region, target in links})
