# role: constructor
# why: a link that is nearly as cheap and much faster is the better one
# needs: plans, grown
# wire: result = cheaper({result}, grow_by_both(source, destinations, parts, links), source, destinations, links, job)
SLOWNESS = 0.05


def grow_by_both(source, destinations, parts, links):
    """All parts along a tree of links that are cheap, and of those the fast ones."""
    tree = grown(source, destinations, {link: usd + SLOWNESS / gbit for link, (usd, gbit) in links.items()})
    return routes_of([tree] * parts, destinations)
