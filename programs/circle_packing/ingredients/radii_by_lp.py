# role: polish
# why: for fixed centres the largest sum of radii is a linear program
# needs: contact_model
# wire: set POLISH
from scipy.optimize import linprog


def radii_by_lp(centres):
    """The best radii for these centres, which stay where they are."""
    points = np.clip(np.asarray(centres, float), 0.0, 1.0)
    n = len(points)
    i, j = np.triu_indices(n, 1)
    apart = np.zeros((len(i), n))
    row = np.arange(len(i))
    apart[row, i] = apart[row, j] = 1
    room = np.minimum(points, 1 - points).min(axis=1)
    distances = np.hypot(*(points[i] - points[j]).T)
    found = linprog(-np.ones(n), A_ub=apart, b_ub=distances, bounds=[(0, float(limit)) for limit in room])
    radii = found.x if found.x is not None else np.zeros(n)
    return as_packing(np.concatenate([points[:, 0], points[:, 1], radii]))
