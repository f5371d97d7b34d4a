# role: loop
# why: descents from different starts end in different local optima
# needs: packing, descend
# slots: KICKS = ()
# wants: KICKS, NEIGHBOURHOODS
# wire: result = random_restarts(gpu_num, {result})
import random

RESTARTS = 10
KICKS_PER_RESTART = 5


def random_restarts(gpu_num, placement):
    """The best of several descents, each from the given placement after several kicks."""
    rng = random.Random(3)
    best = Packing(gpu_num, placement)
    for _ in range(RESTARTS):
        trial = Packing(gpu_num, placement)
        for _ in range(KICKS_PER_RESTART if KICKS else 0):
            rng.choice(KICKS)(trial, rng)
        descend(trial)
        if max(trial.pressures) < max(best.pressures) - 1e-12:
            best = trial
    return best.placement()
