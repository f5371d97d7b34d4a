# role: shared
# why: a tree that always takes in the nearest destination is good by any measure of nearness
import heapq


def grown(source, destinations, weight):
    """A tree from the source that grows by the nearest missing destination."""
    regions, tree, missing = sorted({region for link in weight for region in link}), {source: None}, set(destinations)
    while missing:
        distance, before, done = dict.fromkeys(tree, 0.0), {}, set()
        waiting = [(0.0, region) for region in sorted(tree)]
        while True:
            length, region = heapq.heappop(waiting)
            if region in missing and region not in tree:
                break
            if region in done:
                continue
            done.add(region)
            for target in regions:
                if target not in tree and target != region:
                    total = length + weight[region, target]
                    if target not in distance or total < distance[target]:
                        distance[target], before[target] = total, region
                        heapq.heappush(waiting, (total, target))
        while region not in tree:
            tree[region] = before[region]
            missing.discard(region)
            region = before[region]
    return tree
