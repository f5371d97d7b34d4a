# role: polish
# why: only circles that nearly touch can stop each other, and a solver that sees no others is many times faster
# needs: better_packing, penalty_descent, slsqp
# wire: set POLISH
NEAR = 0.05


def polish_near_pairs(centres):
    """The local optimum near what a penalised descent reaches; what the descent reaches where SLSQP fails."""
    v = penalty_descent(centres)
    x, y, r = v.reshape(3, -1)
    i, j = np.triu_indices(len(r), 1)
    near = np.hypot(x[i] - x[j], y[i] - y[j]) < r[i] + r[j] + NEAR
    return better_packing(as_packing(v), as_packing(slsqp(v, i[near], j[near])))
