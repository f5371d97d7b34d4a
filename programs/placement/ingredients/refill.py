# role: shared
# why: every perturbation that takes models out must put them back
def refill(packing, items):
    """Put (load, size, model) items back, in the given order, each where the resulting pressure is smallest."""
    for item in items:
        loads, sizes = packing.loads, packing.sizes
        after = [pressure(loads[g] + item[0], sizes[g] + item[1]) for g in range(len(loads))]
        gpu = after.index(min(after))
        packing.put(gpu, packing.groups[gpu] + [item])
