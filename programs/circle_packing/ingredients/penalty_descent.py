# role: shared
# why: overlaps that cost their square leave a smooth function of centres and radii, which descends from anywhere
import numpy as np
from scipy.optimize import minimize

FIRST_RADIUS = 0.01
PENALTIES = 3.0, 30.0, 300.0
DESCENT_ITERATIONS = 100
PARTED = 0.001  # centres in one place have no slope that parts them


def penalised(v, i, j, penalty):
    """Minus the sum of radii, plus penalty times all squared overlaps (of sides and pairs), and its slopes."""
    x, y, r = v.reshape(3, -1)
    n = len(x)
    dx, dy = x[i] - x[j], y[i] - y[j]
    apart = np.hypot(dx, dy) + 1e-12
    over = np.maximum(0, r[i] + r[j] - apart)
    low, high = np.maximum(0, r - v[: 2 * n].reshape(2, n)), np.maximum(0, r + v[: 2 * n].reshape(2, n) - 1)
    slopes = np.vstack([high - low, (low + high).sum(axis=0)])
    for row, share in enumerate((-over * dx / apart, -over * dy / apart, over)):
        slopes[row] += np.bincount(i, share, n) + np.bincount(j, share if row == 2 else -share, n)
    slopes *= 2 * penalty
    slopes[2] -= 1
    return penalty * (over @ over + (low**2).sum() + (high**2).sum()) - r.sum(), slopes.ravel()


def penalty_descent(centres):
    """The vector (x, y, r) of a packing that nearly fits, from these centres, under growing penalties."""
    n = len(centres)
    parted = np.asarray(centres, float) + np.random.default_rng(7).normal(0, PARTED, (n, 2))
    v = np.concatenate([np.clip(parted, 0, 1).T.ravel(), np.full(n, FIRST_RADIUS)])
    box, pairs = [(0, 1)] * (2 * n) + [(0, 0.5)] * n, np.triu_indices(n, 1)
    for penalty in PENALTIES:
        limits = {"maxiter": DESCENT_ITERATIONS, "ftol": 1e-9}
        v = minimize(penalised, v, (*pairs, penalty), "L-BFGS-B", jac=True, bounds=box, options=limits).x
    return v
