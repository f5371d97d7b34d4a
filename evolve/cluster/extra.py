"""Whether Dask is installed, which only the commands for a cluster need."""

import importlib.util

from evolve.core.errors import MachineError


def require_dask() -> None:
    """Raises MachineError where the extra is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise MachineError(
            "evaluations on a cluster need Dask, which is not installed here: pip install 'evolve[cluster]'"
        )
