# role: neighbourhood
# why: one region that gets its data from another one is the smallest change of a tree
# needs: trees
# wire: add to MOVES
def move_region(tree, destinations, links, regions, rng):
    """The tree with a random region behind another random one."""
    region = rng.choice(sorted(other for other in tree if tree[other] is not None))
    places = sorted(set(tree) - behind(tree, region) - {tree[region]})
    return {**tree, region: rng.choice(places)} if places else tree
