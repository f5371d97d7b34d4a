# role: shared
# why: small steps down the slope, sharper and sharper, lower the largest overlaps one after another
# needs: slope, feasible
# slots: STEP = None, SHARPEN = None
STEPS = 400
FIRST_SHARPNESS = 100.0


def descent(h):
    """The best heights met on the way down from `h`; `h` where there is no rule for a step."""
    h = best = feasible(h)
    lowest, memory = overlap(h), {}
    for step in range(STEPS if STEP is not None else 0):
        progress = step / STEPS
        sharpness = FIRST_SHARPNESS if SHARPEN is None else SHARPEN(FIRST_SHARPNESS, progress)
        h = feasible(STEP(h, slope(h, sharpness), progress, memory))
        reached = overlap(h)
        if reached < lowest:
            best, lowest = h, reached
    return best
