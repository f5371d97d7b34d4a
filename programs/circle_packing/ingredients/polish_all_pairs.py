# role: polish
# why: with every pair kept apart a solver may move circles past each other
# needs: slsqp
# wire: set POLISH
def polish_all_pairs(centres):
    """The local optimum that SLSQP reaches from these centres."""
    i, j = np.triu_indices(len(centres), 1)
    return slsqp(centres, i, j)
