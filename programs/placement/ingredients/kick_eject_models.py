# role: perturbation
# why: taking single models out of many GPUs disturbs little everywhere instead of much in one place
# needs: packing, refill
# wire: add to KICKS
EJECTED_MODELS = 4


def kick_eject_models(packing, rng):
    """Take random models out, at most one from each GPU, and put them back in a random order."""
    items = []
    for gpu in rng.sample(range(len(packing.groups)), min(EJECTED_MODELS, len(packing.groups))):
        group = packing.groups[gpu][:]
        if group:
            items.append(group.pop(rng.randrange(len(group))))
            packing.put(gpu, group)
    rng.shuffle(items)
    refill(packing, items)
