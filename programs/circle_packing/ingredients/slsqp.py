# role: shared
# why: centres and radii together are a smooth problem, which sequential quadratic programming solves to full precision
# needs: contact_model
from scipy.optimize import minimize

SLSQP_ITERATIONS = 200
FIRST_RADIUS = 0.01


def slsqp(centres, i, j):
    """The packing that SLSQP reaches from these centres, with the pairs (i, j) kept apart."""
    n = len(centres)
    sides, offset = side_rows(n)
    aim = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    result = minimize(
        lambda v: float(aim @ v),
        np.concatenate([np.asarray(centres, float).T.ravel(), np.full(n, FIRST_RADIUS)]),
        jac=lambda v: aim,
        bounds=[(0, 1)] * (2 * n) + [(0, 0.5)] * n,
        constraints={
            "type": "ineq",
            "fun": lambda v: np.concatenate([sides @ v + offset, pair_gaps(v, i, j)]),
            "jac": lambda v: np.vstack([sides, pair_slopes(v, i, j)]),
        },
        method="SLSQP",
        options={"maxiter": SLSQP_ITERATIONS, "ftol": 1e-12},
    )
    return as_packing(result.x)
