# role: constructor
# why: a link that several destinations share is paid once, so each next one should join what is there
# needs: plans, grown
# wire: result = cheaper({result}, grow_by_price(source, destinations, parts, links), source, destinations, links, job)
def grow_by_price(source, destinations, parts, links):
    """All parts along a tree of cheap links."""
    tree = grown(source, destinations, {link: usd for link, (usd, gbit) in links.items()})
    return routes_of([tree] * parts, destinations)
