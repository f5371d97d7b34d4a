# role: shared
# why: small steps down the slope, sharper and sharper, flatten the sums one upon another
# needs: slope
# slots: STEP = None, SHARPEN = None
STEPS = 600
FIRST_SHARPNESS = 50.0


def descent(f):
    """The best heights met on the way down from `f`; `f` where there is no rule for a step."""
    best, lowest = f, constant(f)
    f, memory = f * (len(f) / f.sum()), {}
    for step in range(STEPS if STEP is not None else 0):
        progress = step / STEPS
        sharpness = FIRST_SHARPNESS if SHARPEN is None else SHARPEN(FIRST_SHARPNESS, progress)
        f = STEP(f, slope(f, sharpness), progress, memory)
        total = f.sum()
        if not 0 < total < float("inf"):
            break
        f = f * (len(f) / total)
        reached = constant(f)
        if reached < lowest:
            best, lowest = f, reached
    return best
