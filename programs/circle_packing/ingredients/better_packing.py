# role: shared
# why: a packing is worth the sum of its radii after they are shrunk until it is valid, so that is what is compared
import math


def worth(packing):
    """The sum of the radii once all are shrunk by the factor that makes the packing valid."""
    factor = 1.0
    for k, (x, y, r) in enumerate(packing):
        room = min(x, 1 - x, y, 1 - y)
        if r < 0 or room < 0:
            return 0.0
        if r > room:
            factor = min(factor, room / r)
        for u, v, s in packing[:k]:
            distance = math.hypot(x - u, y - v)
            if r + s > distance:
                factor = min(factor, distance / (r + s))
    return factor * sum(r for _, _, r in packing)


def better_packing(first, second):
    """The one of two packings that is worth more; the first one of equals."""
    return second if worth(second) > worth(first) else first
