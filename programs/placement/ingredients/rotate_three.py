# role: neighbourhood
# why: a chain through a third GPU helps where neither of two GPUs can take what the other gives
# needs: packing
# wire: add to NEIGHBOURHOODS
def rotate_three(packing):
    """Pass a model from the fullest GPU to a second, one of the second to a third, one of the third back."""
    worst = packing.worst()
    limit = packing.pressures[worst] - 1e-12
    others = [gpu for gpu in range(len(packing.groups)) if gpu != worst]
    for a in packing.groups[worst]:
        for second in others:
            for b in packing.groups[second]:
                load, size = packing.loads[second] + a[0] - b[0], packing.sizes[second] + a[1] - b[1]
                if pressure(load, size) >= limit:
                    continue
                for third in others:
                    if third == second:
                        continue
                    for c in packing.groups[third]:
                        load, size = packing.loads[worst] + c[0] - a[0], packing.sizes[worst] + c[1] - a[1]
                        if pressure(load, size) >= limit:
                            continue
                        load, size = packing.loads[third] + b[0] - c[0], packing.sizes[third] + b[1] - c[1]
                        if pressure(load, size) < limit:
                            for gpu, gone, come in ((worst, a, c), (second, b, a), (third, c, b)):
                                packing.put(gpu, [i for i in packing.groups[gpu] if i is not gone] + [come])
                            return True
    return False
