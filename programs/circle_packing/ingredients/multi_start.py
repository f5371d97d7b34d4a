# role: loop
# why: there are many local optima, and polishes from different starts end in different ones
# needs: better_packing
# slots: STARTS = (), POLISH = None
# wants: STARTS, POLISH
# wire: result = better_packing({result}, multi_start(n, {result}))
import random

STARTS_TRIED = 8


def multi_start(n, packing):
    """The best packing polished from several starts; the given one where nothing can be tried."""
    rng = random.Random(5)
    for _ in range(STARTS_TRIED if STARTS and POLISH is not None else 0):
        packing = better_packing(packing, POLISH(rng.choice(STARTS)(n, rng)))
    return packing
