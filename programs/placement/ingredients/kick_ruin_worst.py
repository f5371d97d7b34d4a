# role: perturbation
# why: the maximum falls only when the fullest GPU changes, so that it is emptied together with a few others
# needs: packing, refill
# wire: add to KICKS
RUINED_GPUS = 2


def kick_ruin_worst(packing, rng):
    """Empty the fullest GPU and some random others, and put their models back in a random order."""
    worst = packing.worst()
    others = [gpu for gpu in range(len(packing.groups)) if gpu != worst]
    items = []
    for gpu in [worst, *rng.sample(others, min(RUINED_GPUS, len(others)))]:
        items += packing.groups[gpu]
        packing.put(gpu, [])
    rng.shuffle(items)
    refill(packing, items)
