"""Random starts polished by SLSQP, the best of them kept: what a plain nonlinear solver reaches."""

import numpy as np
from scipy.optimize import minimize

# EVOLVE-BLOCK-START
SEED = 1
STARTS = 40
ITERATIONS = 300


def polished(centres):
    """The packing that SLSQP reaches from these centres: max sum(r) with the sides and all pairs as constraints."""
    n = len(centres)
    i, j = np.triu_indices(n, 1)
    pair = np.arange(len(i))
    sides = np.zeros((4 * n, 3 * n))
    for k in range(n):
        for row, (axis, sign) in enumerate(((0, 1), (0, -1), (1, 1), (1, -1))):
            sides[4 * k + row, [axis * n + k, 2 * n + k]] = sign, -1
    offset = np.tile([0.0, 1.0, 0.0, 1.0], n)

    def gaps(v):
        x, y, r = v[:n], v[n : 2 * n], v[2 * n :]
        return np.concatenate([sides @ v + offset, (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 - (r[i] + r[j]) ** 2])

    def slopes(v):
        pairs = np.zeros((len(i), 3 * n))
        for start, sign in ((0, 1), (n, 1), (2 * n, -1)):
            part = v[start : start + n]
            step = 2 * (part[i] - part[j] if sign > 0 else part[i] + part[j])
            pairs[pair, start + i] = sign * step
            pairs[pair, start + j] = -step
        return np.vstack([sides, pairs])

    aim = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    result = minimize(
        lambda v: float(aim @ v),
        np.concatenate([centres[:, 0], centres[:, 1], np.full(n, 0.01)]),
        jac=lambda v: aim,
        bounds=[(0, 1)] * (2 * n) + [(0, 0.5)] * n,
        constraints={"type": "ineq", "fun": gaps, "jac": slopes},
        method="SLSQP",
        options={"maxiter": ITERATIONS, "ftol": 1e-12},
    )
    v = result.x
    return v.reshape(3, n).T, -result.fun - 1e3 * max(0.0, -gaps(v).min())


def pack(n):
    """Return n circles [(x, y, r), ...] in the unit square that do not overlap."""
    rng = np.random.default_rng(SEED)
    best, best_value = None, -np.inf
    for _ in range(STARTS):
        circles, value = polished(rng.random((n, 2)))
        if value > best_value:
            best, best_value = circles, value
    return [(float(x), float(y), max(0.0, float(r))) for x, y, r in best]
# EVOLVE-BLOCK-END
