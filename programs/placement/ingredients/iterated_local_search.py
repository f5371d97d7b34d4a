# role: loop
# why: a kick followed by a descent leaves the local optimum without losing what was found
# needs: packing, descend
# slots: KICKS = (), ACCEPT = None
# wants: KICKS
# wire: result = iterated_local_search(gpu_num, {result})
import random

KICK_ITERATIONS = 100


def iterated_local_search(gpu_num, placement):
    """The best packing met while kicking and descending, from a placement."""
    rng = random.Random(7)
    current = Packing(gpu_num, placement)
    descend(current)
    best, lowest, cost = current, max(current.pressures), max(current.pressures)
    for step in range(KICK_ITERATIONS):
        if not KICKS:
            break
        trial = current.copy()
        rng.choice(KICKS)(trial, rng)
        descend(trial)
        trial_cost = max(trial.pressures)
        if trial_cost < lowest - 1e-12:
            best, lowest = trial.copy(), trial_cost
        progress = step / KICK_ITERATIONS
        if trial_cost < cost or (ACCEPT is not None and ACCEPT(trial_cost, cost, progress, rng)):
            current, cost = trial, trial_cost
    return best.placement()
