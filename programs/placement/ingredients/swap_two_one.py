# role: neighbourhood
# why: one large model may weigh as much as two small ones, which no single swap can trade
# needs: packing, exchange
# wire: add to NEIGHBOURHOODS
from itertools import combinations


def swap_two_one(packing):
    """Trade two models of the fullest GPU for one of another GPU, or one for two: the first trade that helps."""
    worst = packing.worst()
    mine = packing.groups[worst]
    ones, twos = list(combinations(mine, 1)), list(combinations(mine, 2))
    for gpu, theirs in enumerate(packing.groups):
        if gpu != worst:
            for out in twos:
                if any(exchange(packing, worst, out, gpu, back) for back in combinations(theirs, 1)):
                    return True
            for out in ones:
                if any(exchange(packing, worst, out, gpu, back) for back in combinations(theirs, 2)):
                    return True
    return False
