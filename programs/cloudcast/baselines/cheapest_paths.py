"""The published initial program: every part goes along the cheapest path to each destination, each for itself."""

# EVOLVE-BLOCK-START
import heapq


def routes(source, destinations, parts, links, job):
    """{destination: [path of each part]}; a path is a list of regions, from the source to the destination."""
    regions = sorted({region for link in links for region in link})
    distance, before, done, waiting = {source: 0.0}, {}, set(), [(0.0, source)]
    while waiting:
        usd, region = heapq.heappop(waiting)
        if region in done:
            continue
        done.add(region)
        for target in regions:
            if (region, target) in links and target not in done:
                total = usd + links[region, target][0]
                if target not in distance or total < distance[target]:
                    distance[target], before[target] = total, region
                    heapq.heappush(waiting, (total, target))

    def path(region):
        return [source] if region == source else [*path(before[region]), region]

    return {region: [path(region)] * parts for region in destinations}
# EVOLVE-BLOCK-END
