# role: neighbourhood
# why: moving one model off the fullest GPU is the smallest change that can lower the maximum
# needs: packing
# wire: add to NEIGHBOURHOODS
def move_one(packing):
    """Move one model from the fullest GPU to where the larger of both pressures becomes smallest."""
    worst = packing.worst()
    lowest, change = packing.pressures[worst] - 1e-12, None
    load, size = packing.loads[worst], packing.sizes[worst]
    for index, (item_load, item_size, _) in enumerate(packing.groups[worst]):
        left = pressure(load - item_load, size - item_size)
        if left >= lowest:
            continue
        for gpu in range(len(packing.groups)):
            if gpu != worst:
                after = pressure(packing.loads[gpu] + item_load, packing.sizes[gpu] + item_size)
                if max(left, after) < lowest:
                    lowest, change = max(left, after), (index, gpu)
    if change is None:
        return False
    index, gpu = change
    group = packing.groups[worst]
    packing.put(gpu, packing.groups[gpu] + [group[index]])
    packing.put(worst, group[:index] + group[index + 1 :])
    return True
