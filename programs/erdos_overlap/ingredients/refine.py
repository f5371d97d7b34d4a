# role: refinement
# why: the optimum for few pieces is near that for twice as many, which can only be better
# needs: descent
# wants: STEP
# wire: result = refine({result}, max_n)
DOUBLINGS = 1


def refine(current, max_n):
    """Cut every piece in two of the same height and go down from there, at most DOUBLINGS times."""
    best = np.array(current)
    for _ in range(DOUBLINGS):
        if 2 * len(best) <= max_n:
            best = descent(np.repeat(best, 2))
    return best.tolist()
