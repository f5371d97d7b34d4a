# role: perturbation
# why: several regions moved at once reach trees that single moves do not pass through
# needs: trees
# wire: add to KICKS
MOVED = 3


def kick_moves(tree, destinations, links, regions, rng):
    """The tree with several random regions behind random other ones."""
    for _ in range(MOVED):
        region = rng.choice(sorted(other for other in tree if tree[other] is not None))
        places = sorted(set(tree) - behind(tree, region))
        tree = {**tree, region: rng.choice(places)}
    return tree
