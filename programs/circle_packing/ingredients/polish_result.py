# role: loop
# why: a construction is seldom a local optimum, and one polish costs little
# needs: better_packing
# slots: POLISH = None
# wants: POLISH
# wire: result = polish_result({result})
def polish_result(packing):
    """The packing, or what a polish from its centres gives, if that is better."""
    return packing if POLISH is None else better_packing(packing, POLISH([circle[:2] for circle in packing]))
