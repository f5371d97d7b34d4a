# role: neighbourhood
# why: two GPUs hold so few models that their best split can be found by trying all
# needs: packing
# wire: add to NEIGHBOURHOODS
PAIR_MODELS = 9


def repack_pair(packing):
    """Split the models of the fullest GPU and another one anew, in the best way, where that lowers the pressure."""
    worst = packing.worst()
    for gpu in sorted(range(len(packing.groups)), key=lambda g: packing.pressures[g]):
        items = packing.groups[worst] + packing.groups[gpu]
        if gpu == worst or len(items) > PAIR_MODELS:
            continue
        load, size = packing.loads[worst] + packing.loads[gpu], packing.sizes[worst] + packing.sizes[gpu]
        sums = [(0.0, 0)]
        for item_load, item_size, _ in items[1:]:
            sums += [(a + item_load, b + item_size) for a, b in sums]
        lowest, best = packing.pressures[worst] - 1e-12, None
        for mask, (a, b) in enumerate(sums):
            if pressure(a, b) < lowest and pressure(load - a, size - b) < lowest:
                lowest, best = max(pressure(a, b), pressure(load - a, size - b)), mask
        if best is not None:
            chosen = [item for bit, item in enumerate(items[1:]) if best >> bit & 1]
            packing.put(worst, [item for item in items if item not in chosen])
            packing.put(gpu, chosen)
            return True
    return False
