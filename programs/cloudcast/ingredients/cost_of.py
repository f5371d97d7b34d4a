# role: shared
# why: every constructor, move and loop needs to know what a plan costs, and how late it is
def path_to(tree, region):
    """The regions from the source to one of a tree, which maps each region to the one before it (the source: None)."""
    path = [region]
    while tree[path[-1]] is not None:
        path.append(tree[path[-1]])
    return path[::-1]


def cost_of(plan, destinations, links, job):
    """US$ of a plan, which has a tree for each part; of a plan that is late a number far above any."""
    trees, counts, loads, seen = {id(tree): tree for tree in plan}, {}, {}, set()
    for tree in plan:
        counts[id(tree)] = counts.get(id(tree), 0) + 1
    for destination in destinations:
        for key, tree in trees.items():
            path = path_to(tree, destination)
            for link in zip(path, path[1:]):
                if (key, link) not in seen:
                    seen.add((key, link))
                    loads[link] = loads.get(link, 0) + counts[key]
    flows = {link: job["vms"] * links[link][1] for link in loads}
    regions = dict.fromkeys(region for link in loads for region in link)
    touching = {(end, region): [] for region in regions for end in (0, 1)}
    for link in loads:
        touching[0, link[0]].append(link)
        touching[1, link[1]].append(link)
    for region in regions:
        for end, limits in ((1, job["ingress"]), (0, job["egress"])):
            limit, its_links = job["vms"] * limits[region.split(":")[0]], touching[end, region]
            if sum(flows[link] for link in its_links) > limit:
                flows.update({link: min(flows[link], limit / len(its_links)) for link in its_links})
    size = job["gb"] / len(plan)
    seconds = max(load * size * 8 / flows[link] for link, load in loads.items())
    if job["deadline_s"] is not None and seconds > job["deadline_s"]:
        return 1e6 * seconds / job["deadline_s"]
    usd = sum(load * size * links[link][0] for link, load in loads.items())
    return usd + len(regions) * job["vms"] * 0.54 / 3600 * seconds
