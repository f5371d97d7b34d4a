# role: neighbourhood
# why: two pairs may differ less than any two models do, which allows a finer step
# needs: packing, exchange
# wire: add to NEIGHBOURHOODS
from itertools import combinations


def swap_two_two(packing):
    """Trade two models of the fullest GPU for two of another GPU: the first trade that helps."""
    worst = packing.worst()
    for out in combinations(packing.groups[worst], 2):
        for gpu, theirs in enumerate(packing.groups):
            if gpu != worst:
                if any(exchange(packing, worst, out, gpu, back) for back in combinations(theirs, 2)):
                    return True
    return False
