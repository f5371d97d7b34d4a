# role: constructor
# why: descents from different starts end in different local optima
# needs: descent, better_heights
# slots: STARTS = ()
# wants: STARTS, STEP
# wire: result = better_heights({result}, restart({result}))
RESTARTS = 3


def restart(current):
    """The best of several descents from starts of as many pieces as there are, each kind of start in its turn."""
    rng = np.random.default_rng(3)
    best = feasible(np.array(current))
    for number in range(RESTARTS if STARTS else 0):
        trial = descent(STARTS[number % len(STARTS)](len(best), rng))
        if overlap(trial) < overlap(best):
            best = trial
    return best.tolist()
