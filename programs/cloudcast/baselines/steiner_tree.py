"""One cheapest tree for all parts: an exact Steiner arborescence (Dreyfus and Wagner 1971) for up to eight destinations.

With more, the tree grows by the cheapest path to a missing destination (Takahashi and Matsuyama 1980). It knows nothing
of the time, of VMs and of deadlines.
"""

# EVOLVE-BLOCK-START
import heapq


def cheapest_to(links):
    """Two tables by (a, b): the price of the cheapest path, and the region that comes after a on it."""
    regions = sorted({region for link in links for region in link})
    price = {link: round(10_000 * usd) for link, (usd, gbit) in links.items()}
    after = {(a, b): b for a, b in links}
    price |= {(a, a): 0 for a in regions}
    for middle in regions:
        for a in regions:
            for b in regions:
                through = price[a, middle] + price[middle, b]
                if through < price[a, b]:
                    price[a, b], after[a, b] = through, after[a, middle]
    return regions, price, after


def exact_tree(source, destinations, regions, price):
    """The pairs (a, b) of the cheapest tree, each of which stands for the cheapest path from a to b."""
    whole = (1 << len(destinations)) - 1
    cost, how = {}, {}
    for subset in range(1, whole + 1):
        if subset & (subset - 1) == 0:
            target = destinations[subset.bit_length() - 1]
            for region in regions:
                cost[subset, region], how[subset, region] = price[region, target], ("path", target)
            continue
        split = {}
        for region in regions:
            part = (subset - 1) & subset
            best = None
            while part > subset ^ part:
                total = cost[part, region] + cost[subset ^ part, region]
                if best is None or total <= best[0]:
                    best = total, part
                part = (part - 1) & subset
            split[region] = best
        for region in regions:
            total, middle = min((price[region, other] + split[other][0], other) for other in regions)
            cost[subset, region], how[subset, region] = total, ("split", middle, split[middle][1])
    pairs, waiting = [], [(whole, source)]
    while waiting:
        subset, region = waiting.pop()
        kind, middle, *part = how[subset, region]
        pairs.append((region, middle))
        if kind == "split":
            waiting += [(part[0], middle), (subset ^ part[0], middle)]
    return pairs


def grown_tree(source, destinations, price):
    """The same, of a tree that grows by the cheapest path from it to a missing destination."""
    reached, missing, pairs = [source], list(destinations), []
    while missing:
        _, a, b = min((price[a, b], a, b) for a in reached for b in missing)
        pairs.append((a, b))
        reached.append(b)
        missing.remove(b)
    return pairs


def routes(source, destinations, parts, links, job):
    """{destination: [path of each part]}; a path is a list of regions, from the source to the destination."""
    regions, price, after = cheapest_to(links)
    if len(destinations) <= 8:
        pairs = exact_tree(source, destinations, regions, price)
    else:
        pairs = grown_tree(source, destinations, price)
    used = set()
    for a, b in pairs:
        while a != b:
            used.add((a, after[a, b]))
            a = after[a, b]
    # A tree within the union of these paths: the cheapest way from the source to each region.
    distance, paths, waiting = {source: 0}, {source: [source]}, [(0, source)]
    while waiting:
        total, region = heapq.heappop(waiting)
        for a, b in sorted(used):
            if a == region and (b not in distance or total + price[a, b] < distance[b]):
                distance[b], paths[b] = total + price[a, b], [*paths[a], b]
                heapq.heappush(waiting, (distance[b], b))
    return {region: [paths[region]] * parts for region in destinations}
# EVOLVE-BLOCK-END
