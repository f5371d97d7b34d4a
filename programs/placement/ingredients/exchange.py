# role: shared
# why: larger trades between two GPUs are judged and made in one way
def exchange(packing, gpu, out, other, back):
    """Trade the models `out` of one GPU for the models `back` of another, if that lowers the first one's pressure
    without raising the other's to it. Says whether it did."""
    load = sum([item[0] for item in out]) - sum([item[0] for item in back])
    size = sum([item[1] for item in out]) - sum([item[1] for item in back])
    limit = packing.pressures[gpu] - 1e-12
    if pressure(packing.loads[gpu] - load, packing.sizes[gpu] - size) >= limit:
        return False
    if pressure(packing.loads[other] + load, packing.sizes[other] + size) >= limit:
        return False
    mine = [item for item in packing.groups[gpu] if item not in out]
    theirs = [item for item in packing.groups[other] if item not in back]
    packing.put(gpu, mine + list(back))
    packing.put(other, theirs + list(out))
    return True
