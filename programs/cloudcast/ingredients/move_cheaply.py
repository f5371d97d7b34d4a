# role: neighbourhood
# why: most regions belong behind the one from which sending to them costs the least
# needs: trees
# wire: add to MOVES
def move_cheaply(tree, destinations, links, regions, rng):
    """The tree with a random region behind one of those with the lowest price to it."""
    region = rng.choice(sorted(other for other in tree if tree[other] is not None))
    places = sorted(set(tree) - behind(tree, region))
    lowest = min(links[place, region][0] for place in places)
    return {**tree, region: rng.choice([place for place in places if links[place, region][0] <= lowest])}
