# role: neighbourhood
# why: when memory is tight no model can move, but two can trade places
# needs: packing
# wire: add to NEIGHBOURHOODS
def swap_one_one(packing):
    """Swap a model of the fullest GPU with one of another GPU, where that lowers the larger pressure most."""
    worst = packing.worst()
    lowest, change = packing.pressures[worst] - 1e-12, None
    for index, (out_load, out_size, _) in enumerate(packing.groups[worst]):
        load, size = packing.loads[worst] - out_load, packing.sizes[worst] - out_size
        for gpu, group in enumerate(packing.groups):
            if gpu == worst:
                continue
            other_load, other_size = packing.loads[gpu] + out_load, packing.sizes[gpu] + out_size
            for back, (in_load, in_size, _) in enumerate(group):
                after = pressure(load + in_load, size + in_size)
                if after < lowest:
                    after = max(after, pressure(other_load - in_load, other_size - in_size))
                    if after < lowest:
                        lowest, change = after, (index, gpu, back)
    if change is None:
        return False
    index, gpu, back = change
    mine, theirs = packing.groups[worst][:], packing.groups[gpu][:]
    mine[index], theirs[back] = theirs[back], mine[index]
    packing.put(worst, mine)
    packing.put(gpu, theirs)
    return True
