# role: perturbation
# why: a few random swaps reach places that improving steps never pass through
# needs: packing
# wire: add to KICKS
SWAPS_PER_KICK = 2


def kick_random_swaps(packing, rng):
    """Swap random models between random GPUs, where both keep room."""
    for _ in range(SWAPS_PER_KICK if len(packing.groups) > 1 else 0):
        gpu, other = rng.sample(range(len(packing.groups)), 2)
        mine, theirs = packing.groups[gpu][:], packing.groups[other][:]
        if mine and theirs:
            a, b = rng.randrange(len(mine)), rng.randrange(len(theirs))
            change = theirs[b][1] - mine[a][1]
            mine[a], theirs[b] = theirs[b], mine[a]
            if packing.sizes[gpu] + change < GPU_MEM_SIZE and packing.sizes[other] - change < GPU_MEM_SIZE:
                packing.put(gpu, mine)
                packing.put(other, theirs)
