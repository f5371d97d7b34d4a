"""A program for `circle_packing` that calls whatever numpy and SciPy offer, and fails where an import is refused."""

import sys
import warnings

import numpy as np
import scipy
from scipy import integrate, optimize, sparse

# Modules whose functions look at what they are given. Of the others, whose C code can end the process, some are below.
MODULES = """
numpy numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random scipy.fft scipy.integrate scipy.interpolate
scipy.linalg scipy.optimize scipy.signal scipy.signal.windows scipy.special scipy.stats scipy.stats.qmc
""".split()
LEFT_OUT = {"f2py", "show_config", "test"}  # what builds and tests the packages
PICTURES = {"matplotlib"}


def bowl(x, *_):
    return float(np.sum(np.square(np.asarray(x, float) - 0.3)))


BOX = [(-1.0, 1.0)] * 2
METHODS = "Nelder-Mead Powell CG BFGS Newton-CG L-BFGS-B TNC COBYLA COBYQA SLSQP trust-constr dogleg trust-ncg trust-exact trust-krylov"


def minimised(method):
    given = {"jac": lambda x: 2 * (x - 0.3), "hess": lambda x: 2 * np.eye(2)}
    given = given if method.startswith(("dogleg", "trust", "Newton")) else {}
    return optimize.minimize(bowl, [0.0, 0.0], method=method, **given).fun < 1e-3


PROMISED = {
    **{f"minimize {method}": lambda method=method: minimised(method) for method in METHODS.split()},
    "basinhopping": lambda: optimize.basinhopping(bowl, [0.0, 0.0], niter=2).fun < 1e-3,
    "brute": lambda: bowl(optimize.brute(bowl, BOX, Ns=5)) < 1e-3,
    "differential_evolution": lambda: optimize.differential_evolution(bowl, BOX, maxiter=20).fun < 1e-3,
    "direct": lambda: optimize.direct(bowl, BOX).fun < 1e-3,
    "dual_annealing": lambda: optimize.dual_annealing(bowl, BOX, maxiter=20).fun < 1e-3,
    "shgo": lambda: optimize.shgo(bowl, BOX).fun < 1e-3,
    "least_squares": lambda: optimize.least_squares(lambda x: x - 0.3, [0.0, 0.0]).success,
    "curve_fit": lambda: abs(optimize.curve_fit(lambda x, a: a * x, [1.0, 2.0], [2.0, 4.0])[0][0] - 2) < 1e-6,
    "linprog": lambda: optimize.linprog([1.0, 1.0], bounds=BOX).fun == -2,
    "milp": lambda: optimize.milp([1.0], integrality=[1], bounds=optimize.Bounds(0.5, 3)).fun == 1,
    "linear_sum_assignment": lambda: list(optimize.linear_sum_assignment([[1, 2], [0, 4]])[1]) == [1, 0],
    "quad": lambda: abs(integrate.quad(np.sin, 0, np.pi)[0] - 2) < 1e-9,
    "dblquad": lambda: abs(integrate.dblquad(lambda y, x: x * y, 0, 1, 0, 1)[0] - 0.25) < 1e-9,
    "tplquad": lambda: abs(integrate.tplquad(lambda z, y, x: 1.0, 0, 1, 0, 1, 0, 1)[0] - 1) < 1e-9,
    "nquad": lambda: abs(integrate.nquad(lambda x: x, [(0, 1)])[0] - 0.5) < 1e-9,
    "quad_vec": lambda: abs(integrate.quad_vec(np.sin, 0, np.pi)[0] - 2) < 1e-9,
    "solve_ivp": lambda: integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], method="LSODA").success,
    "odeint": lambda: abs(integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0])[1][0] - np.exp(-1)) < 1e-6,
    "eigsh": lambda: abs(sparse.linalg.eigsh(sparse.diags_array(np.arange(1.0, 9.0)), k=1)[0][0] - 8) < 1e-9,
    "voronoi": lambda: len(scipy.spatial.Voronoi(np.random.random((9, 2))).points) == 9,
    "pdist": lambda: len(scipy.spatial.distance.pdist(np.eye(4), "euclidean")) == 6,
    "cdist": lambda: scipy.spatial.distance.cdist(np.eye(4), np.eye(4), "jensenshannon").shape == (4, 4),
    "tree": lambda: scipy.spatial.KDTree(np.eye(4)).query([1, 0, 0, 0])[1] == 0,
    "hull": lambda: len(scipy.spatial.ConvexHull(np.random.random((9, 2))).vertices) >= 3,
    "delaunay": lambda: len(scipy.spatial.Delaunay(np.random.random((9, 2))).simplices) > 0,
    "rotation": lambda: scipy.spatial.transform.Rotation.random().as_matrix().shape == (3, 3),
    "spsolve": lambda: abs(sparse.linalg.spsolve(sparse.eye_array(3, format="csc"), np.ones(3)) - 1).max() < 1e-9,
    "svds": lambda: len(sparse.linalg.svds(sparse.random_array((9, 9), density=0.9), k=2)[1]) == 2,
    "cg": lambda: sparse.linalg.cg(sparse.eye_array(3), np.ones(3))[1] == 0,
    "shortest_path": lambda: sparse.csgraph.shortest_path(np.eye(3)).shape == (3, 3),
    "matching": lambda: len(sparse.csgraph.min_weight_full_bipartite_matching(sparse.csr_array(np.eye(3)))[0]) == 3,
    "linkage": lambda: scipy.cluster.hierarchy.linkage(np.eye(4)).shape == (3, 4),
    "kmeans2": lambda: len(scipy.cluster.vq.kmeans2(np.eye(4), 2, seed=1)[1]) == 4,
    "label": lambda: scipy.ndimage.label(np.eye(4))[1] == 4,
    "gaussian_filter": lambda: scipy.ndimage.gaussian_filter(np.eye(4), 1).shape == (4, 4),
    "zoom": lambda: scipy.ndimage.zoom(np.eye(4), 2).shape == (8, 8),
    "recfunctions": lambda: np.lib.recfunctions is not None,
    "testing": lambda: np.testing.assert_allclose([1.0], [1.0]) is None,
}


def arguments():
    line, square = np.linspace(0.1, 1, 8), np.random.default_rng(1).random((4, 4)) + 4 * np.eye(4)
    yield from ((), (line,), (square,), (2,), (line, line), (square, line[:4]), (square, square), (line, 2))
    yield from ((bowl, line[:2]), (bowl, 0.0, 1.0), (bowl, BOX))


def refused(error):
    """The names of the imports that were refused on the way to an error."""
    while error is not None:
        if isinstance(error, ImportError) and error.name not in PICTURES:
            yield str(error.name)
        error = error.__context__


def sweep():
    """The refused imports by function, and how many functions returned something."""
    found, worked = {}, set()
    for module in MODULES:
        for name in sorted(getattr(sys.modules[module], "__all__", None) or dir(sys.modules[module])):
            called = getattr(sys.modules[module], name, None)
            if name.startswith("_") or name in LEFT_OUT or not callable(called):
                continue
            for given in arguments():
                try:
                    called(*given)
                    worked.add((module, name))
                except Exception as error:
                    for missing in refused(error):
                        found.setdefault(missing, set()).add(f"{module}.{name}")
    return found, len(worked)


def pack(n):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, act in PROMISED.items():
        assert act(), name
    found, worked = sweep()
    assert not found, {missing: sorted(names)[:5] for missing, names in found.items()}
    assert worked > 800, worked
    return [(0.1 + 0.15 * (i % 6), 0.1 + 0.15 * (i // 6), 0.05) for i in range(n)]
