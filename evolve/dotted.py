"""An implementation that a configuration names by dotted path: `package.module:attribute`."""

import importlib
from typing import Any

from evolve.errors import InputError


def is_dotted(name: str) -> bool:
    """Whether a value names an attribute of a module, and not something that ships."""
    return ":" in name


def load_dotted(name: str, *, key: str) -> Any:
    """What `package.module:attribute` names. Raises InputError, which begins with the configuration's `key`."""
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as cause:
        raise InputError(
            f"{key}: {name!r} names the module {module_name!r}, which cannot be imported ({cause}); it must be "
            "installed, or lie in a folder of PYTHONPATH"
        ) from None
    found = getattr(module, attribute, None)
    if not callable(found):
        raise InputError(f"{key}: {name!r}: the module {module_name!r} has no class or function {attribute!r}")
    return found
