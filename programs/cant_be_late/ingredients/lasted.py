# role: shared
# why: a time with spot, or without, that has lasted long is likely to last longer
def lasted(now):
    """For how many ticks spot has been as it is now: there, or gone."""
    seen = now["seen"]
    ticks = 1
    while ticks < len(seen) and seen[-ticks - 1] == seen[-1]:
        ticks += 1
    return ticks
