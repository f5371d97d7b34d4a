# role: polish
# why: moving the centres a little in a linearised program climbs without curvature or a good first guess
# needs: contact_model, better_packing
# wire: set POLISH
from scipy.optimize import linprog

LP_STEPS = 12
LP_REACH = 0.05


def sequential_lp(centres):
    """Linear programs in a shrinking region around the current packing."""
    n = len(centres)
    sides, offset = side_rows(n)
    i, j = np.triu_indices(n, 1)
    v = np.concatenate([np.asarray(centres, float).T.ravel(), np.zeros(n)])
    best, reach = as_packing(v), LP_REACH
    aim = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    for _ in range(LP_STEPS):
        slopes = pair_slopes(v, i, j)
        limits = pair_gaps(v, i, j) - slopes @ v
        near = [(max(0.0, c - reach), min(1.0, c + reach)) for c in v[: 2 * n]]
        near += [(max(0.0, r - 2 * reach), min(0.5, r + 2 * reach)) for r in v[2 * n :]]
        found = linprog(aim, A_ub=-np.vstack([sides, slopes]), b_ub=np.concatenate([offset, limits]), bounds=near)
        if found.x is None:
            reach /= 2
            continue
        trial = as_packing(found.x)
        if worth(trial) > worth(best):
            best = trial
        else:
            reach /= 2
        v = found.x
    return best
