# role: neighbourhood
# why: every region costs its machines for the whole time
# needs: trees
# wire: add to MOVES
def drop_relay(tree, destinations, links, regions, rng):
    """The tree without a random relay; what was behind it is sent from the region before it."""
    relays = relays_of(tree, destinations)
    if not relays:
        return tree
    relay = rng.choice(relays)
    return {region: tree[relay] if before == relay else before for region, before in tree.items() if region != relay}
