"""Sends every part along the cheapest path to each destination, or along a tree of fast links if there is a deadline."""

# EVOLVE-BLOCK-START
import heapq


def nearest(reached, wanted, weight):
    """The shortest path from any region of `reached` to the nearest region of `wanted`, as a list of regions."""
    distance, before, done = dict.fromkeys(reached, 0.0), {}, set()
    waiting = [(0.0, region) for region in sorted(reached)]
    regions = sorted({region for link in weight for region in link})
    while waiting:
        length, region = heapq.heappop(waiting)
        if region in done:
            continue
        done.add(region)
        if region in wanted:
            path = [region]
            while path[-1] in before:
                path.append(before[path[-1]])
            return path[::-1]
        for target in regions:
            step = weight.get((region, target))
            if step is not None and target not in reached and target not in done:
                if target not in distance or length + step < distance[target]:
                    distance[target], before[target] = length + step, region
                    heapq.heappush(waiting, (length + step, target))


def routes(source, destinations, parts, links, job):
    """{destination: [path of each part]}; a path is a list of regions, from the source to the destination."""
    if job["deadline_s"] is None:
        price = {link: usd for link, (usd, gbit) in links.items()}
        paths = {region: nearest([source], [region], price) for region in destinations}
    else:
        slowness = {link: 1 / gbit for link, (usd, gbit) in links.items()}
        paths, missing = {source: [source]}, set(destinations)
        while missing:
            path = nearest(paths, missing, slowness)
            for region, target in zip(path, path[1:]):
                paths[target] = [*paths[region], target]
            missing.discard(path[-1])
    result = {region: [paths[region]] * parts for region in destinations}
    return result
# EVOLVE-BLOCK-END
