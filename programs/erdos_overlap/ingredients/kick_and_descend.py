# role: perturbation loop
# why: a kick followed by a descent leaves the local optimum without losing the best heights so far
# needs: descent
# slots: KICKS = ()
# wants: KICKS, STEP
# wire: result = kick_and_descend({result})
ROUNDS = 4


def kick_and_descend(current):
    """The best heights met while kicking and going down, each time from the best so far."""
    rng = np.random.default_rng(7)
    best = feasible(np.array(current))
    for number in range(ROUNDS if KICKS else 0):
        trial = descent(KICKS[number % len(KICKS)](best, rng))
        if overlap(trial) < overlap(best):
            best = trial
    return best.tolist()
