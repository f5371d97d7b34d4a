# role: constructor
# why: time is paid in every region, and a deadline may leave no choice
# needs: plans, grown
# wire: result = cheaper({result}, grow_by_speed(source, destinations, parts, links), source, destinations, links, job)
def grow_by_speed(source, destinations, parts, links):
    """All parts along a tree of fast links."""
    tree = grown(source, destinations, {link: 1 / gbit for link, (usd, gbit) in links.items()})
    return routes_of([tree] * parts, destinations)
