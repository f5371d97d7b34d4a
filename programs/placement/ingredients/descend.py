# role: shared
# why: a neighbourhood alone makes one step, and must be asked again until none improves
# slots: NEIGHBOURHOODS = ()
DESCENT_STEPS = 500


def descend(packing):
    """Let the neighbourhoods improve a packing in place until none of them can."""
    for _ in range(DESCENT_STEPS):
        if not any(improve(packing) for improve in NEIGHBOURHOODS):
            break
