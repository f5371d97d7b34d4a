# role: loop
# why: a kick followed by a polish leaves a local optimum without losing what was found
# needs: better_packing
# slots: KICKS = (), POLISH = None, ACCEPT = None
# wants: KICKS, POLISH
# wire: result = basin_hopping({result})
import random

HOPS = 8


def basin_hopping(packing):
    """The best packing met while kicking and polishing."""
    rng = random.Random(11)
    best = current = packing
    highest = value = worth(packing)
    for step in range(HOPS if KICKS and POLISH is not None else 0):
        trial = POLISH(rng.choice(KICKS)(current, rng))
        trial_value = worth(trial)
        if trial_value > highest:
            best, highest = trial, trial_value
        if trial_value > value or (ACCEPT is not None and ACCEPT(trial_value, value, step / HOPS, rng)):
            current, value = trial, trial_value
    return best
