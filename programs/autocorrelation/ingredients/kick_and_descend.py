# role: perturbation loop
# why: a kick followed by a descent leaves the local optimum without losing what was found
# needs: descent
# slots: KICKS = ()
# wants: KICKS, STEP
# wire: result = kick_and_descend({result})
ROUNDS = 4


def kick_and_descend(found):
    """The best heights met while kicking and going down, each time from the best so far."""
    rng = np.random.default_rng(7)
    best = np.array(found)
    for number in range(ROUNDS if KICKS else 0):
        trial = descent(KICKS[number % len(KICKS)](best * (len(best) / best.sum()), rng))
        if constant(trial) < constant(best):
            best = trial
    return best.tolist()
