# role: shared
# why: centres and radii together are a smooth problem, which sequential quadratic programming solves to full precision
# needs: contact_model
from scipy.optimize import minimize

SLSQP_ITERATIONS = 30


def slsqp(v, i, j):
    """What SLSQP reaches from the vector (x, y, r), with all sides and the pairs (i, j) kept apart."""
    n = len(v) // 3
    sides, offset = side_rows(n)
    aim = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    return minimize(
        lambda v: float(aim @ v),
        v,
        jac=lambda v: aim,
        bounds=[(0, 1)] * (2 * n) + [(0, 0.5)] * n,
        constraints={
            "type": "ineq",
            "fun": lambda v: np.concatenate([sides @ v + offset, pair_gaps(v, i, j)]),
            "jac": lambda v: np.vstack([sides, pair_slopes(v, i, j)]),
        },
        method="SLSQP",
        options={"maxiter": SLSQP_ITERATIONS, "ftol": 1e-12},
    ).x
