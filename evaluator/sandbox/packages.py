"""The packages that a task allows its programs: where they are, and which of their modules are loaded.

A candidate can open no file, so that everything it may import must be loaded before. Of a package without an entry here
that is what `import NAME` loads; a task names more modules by dotted names (`packages: [shapely, shapely.ops]`). A
worker finds what the loaded modules import later, inside of functions (`zygote`).
"""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evaluator.errors import SandboxError, TaskError

_MODULES: Final = {
    "numpy": (
        *("numpy.random", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.lib.stride_tricks"),
        *("numpy.exceptions", "numpy.dtypes", "numpy.typing"),
    ),
    "scipy": (
        *("scipy.optimize", "scipy.spatial", "scipy.spatial.distance", "scipy.linalg", "scipy.linalg.blas"),
        *("scipy.linalg.lapack", "scipy.sparse", "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.special"),
        *("scipy.interpolate", "scipy.integrate", "scipy.fft", "scipy.signal", "scipy.ndimage", "scipy.cluster.vq"),
        *("scipy.cluster.hierarchy", "scipy.stats", "scipy.stats.qmc"),
    ),
}
"""The modules to load of packages that load few by themselves."""
_NEEDS: Final = {"scipy": ("numpy",)}
"""Packages that a package uses, which a program may import too."""


def names(packages: Sequence[str]) -> list[str]:
    """The packages that a program may import, by their first names."""
    tops = [entry.partition(".")[0] for entry in packages]
    return list(dict.fromkeys(name for top in tops for name in (*_NEEDS.get(top, ()), top)))


def modules(packages: Sequence[str]) -> list[str]:
    """Every module that is loaded for them, in order."""
    tops = names(packages)
    return list(dict.fromkeys([*tops, *(module for top in tops for module in _MODULES.get(top, ())), *packages]))


def path(packages: Sequence[str]) -> list[str]:
    """The folders to import them from. Raises SandboxError when one is not installed, TaskError for one of Python."""
    return list(dict.fromkeys(str(_place(name).parent) for name in names(packages)))


def folders(packages: Sequence[str]) -> list[Path]:
    """The folders to read for that: each package, and the libraries of its wheel next to it. Raises as `path`."""
    places = [_place(name) for name in names(packages)]
    return [place for found in places for place in (found, found.with_name(f"{found.stem}.libs"))]


def _place(name: str) -> Path:
    """The folder (or file) of a package."""
    if name in sys.stdlib_module_names:
        raise TaskError(f"this task lists {name!r} under `packages`, and it is part of Python itself: leave it out")
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise SandboxError(
            f"this task lists {name!r} under `packages` in its task.yaml, which is not installed here; check the name, "
            "then install the package with that module"
        )
    locations = list(spec.submodule_search_locations or ())
    return Path(locations[0] if locations else spec.origin or name).resolve()
