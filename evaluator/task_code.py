"""A task's own trusted code, loaded into the harness."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from evaluator.errors import TaskError


def load_module(name: str, path: Path, functions: Sequence[str]) -> ModuleType:
    """The module in `path`, which must define `functions`. Raises TaskError."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"{path}: cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as cause:  # boundary: a user's own module may raise anything while it loads
        raise TaskError(f"{path}: does not load ({type(cause).__name__}: {cause})") from cause
    for function in functions:
        if not callable(getattr(module, function, None)):
            raise TaskError(f"{path}: does not define {function}()")
    return module
