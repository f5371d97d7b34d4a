# role: neighbourhood
# why: a region that wants nothing may be the one from which sending to the others is cheap
# needs: trees
# wire: add to MOVES
def add_relay(tree, destinations, links, regions, rng):
    """The tree with a new relay, and behind it all regions to which it sends for less than what they pay."""
    relay = rng.choice([region for region in regions if region not in tree])
    before = rng.choice(sorted(tree))
    path = {before}
    while tree[before] is not None:
        before = tree[before]
        path.add(before)
    changed = {**tree, relay: rng.choice(sorted(path))}
    for region in sorted(set(tree) - path):
        if links[relay, region][0] < links[tree[region], region][0]:
            changed[region] = relay
    return changed
