# role: constructor
# why: data that leaves an expensive cloud once can be spread from a region where sending is cheap
# needs: plans
# wire: result = cheaper({result}, one_hub(source, destinations, parts, links, job), source, destinations, links, job)
def one_hub(source, destinations, parts, links, job):
    """All parts over the one region from which sending to the destinations costs the least."""
    plans = []
    for hub in sorted({region for link in links for region in link} - {source}):
        tree = {source: None, hub: source} | {region: hub for region in destinations if region != hub}
        plans.append([tree] * parts)
    return routes_of(min(plans, key=lambda plan: cost_of(plan, destinations, links, job)), destinations)
