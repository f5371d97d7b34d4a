# role: perturbation
# why: a chain of two new relays may pay where one alone does not
# needs: trees
# wire: add to KICKS
def kick_relays(tree, destinations, links, regions, rng):
    """The tree with two new relays in a row before a random region."""
    region = rng.choice(sorted(other for other in tree if tree[other] is not None))
    first, second = rng.sample([one for one in regions if one not in tree], 2)
    return {**tree, first: tree[region], second: first, region: second}
