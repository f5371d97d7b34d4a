# role: linear step
# why: for a fixed f, the g with the lowest peak of f*g is a linear program, and f is moved towards it
# needs: convolution
# wire: result = polish({result})
from scipy.linalg import toeplitz
from scipy.optimize import linprog

POLISHES = 6
LARGEST_PROGRAM = 160


def polish(found):
    """Steps of Matolcsi and Vinuesa 2010, arXiv 0907.1379: towards g, as far as C falls; none for many pieces."""
    f = np.array(found) / max(found)
    n = len(f)
    for _ in range(POLISHES if n <= LARGEST_PROGRAM else 0):
        shifted = toeplitz(np.concatenate([f, np.zeros(n - 1)]), np.zeros(n))
        peaks = np.hstack([shifted, -np.ones((2 * n - 1, 1))])
        total = np.append(np.ones(n), 0.0)[None, :]
        cost = np.append(np.zeros(n), 1.0)
        solved = linprog(cost, A_ub=peaks, b_ub=np.zeros(2 * n - 1), A_eq=total, b_eq=[f.sum()], method="highs")
        if solved.x is None:
            break
        g = np.maximum(solved.x[:n], 0)
        f = min([f + share * (g - f) for share in (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)], key=constant)
    return f.tolist()
