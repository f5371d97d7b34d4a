# role: linear step
# why: near the current heights every overlap is almost linear, so the best small change of all is a linear program
# needs: overlaps, feasible
# wire: result = linear_steps({result})
from scipy.optimize import linprog

LINEAR_STEPS = 5
FARTHEST_STEP = 0.05
LARGEST_PROGRAM = 130


def linear_steps(current):
    """Changes that lower the largest overlap most while all are at most FARTHEST_STEP; none for many pieces."""
    h = feasible(np.array(current))
    n, reach = len(h), FARTHEST_STEP
    shift = np.arange(1 - n, n)[:, None] + np.arange(n)[None, :]
    back = np.arange(n)[None, :] - np.arange(1 - n, n)[:, None]
    inside, behind = (shift >= 0) & (shift < n), (back >= 0) & (back < n)
    total = np.append(np.ones(n), 0.0)[None, :]
    for _ in range(LINEAR_STEPS if n <= LARGEST_PROGRAM else 0):
        slopes = (inside * (1 - h)[shift % n] - behind * h[back % n]) * 2 / n
        now = overlaps(h)[np.arange(1 - n, n)]
        limits = [*zip(np.maximum(-h, -reach), np.minimum(HIGHEST - h, reach)), (None, None)]
        rows = np.hstack([slopes, -np.ones((2 * n - 1, 1))])
        cost = np.append(np.zeros(n), 1.0)
        solved = linprog(cost, A_ub=rows, b_ub=-now, A_eq=total, b_eq=[0.0], bounds=limits, method="highs")
        trial = h if solved.x is None else feasible(h + solved.x[:n])
        if overlap(trial) < overlap(h):
            h = trial
        else:
            reach /= 2
    return h.tolist()
