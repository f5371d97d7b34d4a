# role: shared
# why: sides and disjoint pairs are smooth constraints, and their exact slopes make every solver faster
import numpy as np


def side_rows(n):
    """Matrix and offset of the sides' gaps (x - r, 1 - x - r and the same of y) for the vector (x, y, r)."""
    one, none = np.eye(n), np.zeros((n, n))
    rows = [[one, none, -one], [-one, none, -one], [none, one, -one], [none, -one, -one]]
    return np.block(rows), np.repeat([0.0, 1.0, 0.0, 1.0], n)


def pair_gaps(v, i, j):
    """Squared distance less squared sum of radii, of the pairs (i, j)."""
    x, y, r = v.reshape(3, -1)
    return (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 - (r[i] + r[j]) ** 2


def pair_slopes(v, i, j):
    """The derivatives of pair_gaps."""
    x, y, r = v.reshape(3, -1)
    n, row = len(x), np.arange(len(i))
    slopes = np.zeros((len(i), 3 * n))
    for start, step in ((0, 2 * (x[i] - x[j])), (n, 2 * (y[i] - y[j]))):
        slopes[row, start + i], slopes[row, start + j] = step, -step
    slopes[row, 2 * n + i] = slopes[row, 2 * n + j] = -2 * (r[i] + r[j])
    return slopes


def as_packing(v):
    """The circles of the vector (x, y, r) as plain numbers, pulled into the square."""
    v = np.clip(np.asarray(v, float), 0.0, 1.0)
    return list(zip(*v.reshape(3, -1).tolist()))
