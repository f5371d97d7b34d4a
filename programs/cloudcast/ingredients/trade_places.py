# role: neighbourhood
# why: the region that sends to many should be one that may send much
# needs: trees
# wire: add to MOVES
def trade_places(tree, destinations, links, regions, rng):
    """The tree with two random regions exchanged."""
    one, other = rng.choice(sorted(tree)), rng.choice(sorted(tree))
    if None in (tree[one], tree[other]):
        return tree
    swap = {one: other, other: one}
    return {swap.get(region, region): swap.get(before, before) for region, before in tree.items()}
