# role: perturbation
# why: emptying random GPUs changes also what the fullest one cannot reach
# needs: packing, refill
# wire: add to KICKS
RUINED_AT_RANDOM = 3


def kick_ruin_random(packing, rng):
    """Empty random GPUs and put their models back by disturbed load, the heaviest first."""
    items = []
    for gpu in rng.sample(range(len(packing.groups)), min(RUINED_AT_RANDOM, len(packing.groups))):
        items += packing.groups[gpu]
        packing.put(gpu, [])
    items.sort(key=lambda item: item[0] * (0.5 + rng.random()), reverse=True)
    refill(packing, items)
