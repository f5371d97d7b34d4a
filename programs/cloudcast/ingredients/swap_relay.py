# role: neighbourhood
# why: several regions of a cloud have the same prices and different speeds
# needs: trees
# wire: add to MOVES
def swap_relay(tree, destinations, links, regions, rng):
    """The tree with another region in the place of a random relay."""
    relays = relays_of(tree, destinations)
    if not relays:
        return tree
    old, new = rng.choice(relays), rng.choice([region for region in regions if region not in tree])
    return {new if region == old else region: new if before == old else before for region, before in tree.items()}
