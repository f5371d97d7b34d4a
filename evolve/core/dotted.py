"""An implementation that a configuration names by dotted path: `package.module:attribute`."""

import importlib
from collections.abc import Sequence
from typing import Any

from evaluator.untrusted import one_line
from evolve.core.errors import EvolveError, InputError


def is_dotted(name: str) -> bool:
    """Whether a value names an attribute of a module, and nothing built in."""
    return ":" in name


def open_dotted(name: str, settings: object, *, key: str, methods: Sequence[str]) -> Any:
    """The object that `package.module:attribute` makes of `settings`; it must have these `methods`.

    Raises InputError, which begins with the configuration's `key`, for whatever is wrong with it.
    """
    make = _load(name, key)
    try:
        made = make(settings)
    except EvolveError:
        raise
    except Exception as cause:  # noqa: BLE001 - boundary: somebody else's code
        raise InputError(f"{key}: {name!r} cannot be made of its settings ({_described(cause)})") from None
    lacking = [method for method in methods if not callable(getattr(made, method, None))]
    if lacking:
        raise InputError(f"{key}: what {name!r} makes has no method {lacking[0]!r} (see evolve/seams.py)")
    return made


def _load(name: str, key: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), attribute)):
        raise InputError(f"{key}: {name!r} is no dotted path such as package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ImportError as cause:
        raise InputError(
            f"{key}: {name!r} names the module {module_name!r}, which cannot be imported ({_described(cause)}); "
            "install it, or put its folder on PYTHONPATH"
        ) from None
    except Exception as cause:  # noqa: BLE001 - boundary: somebody else's code
        raise InputError(f"{key}: {name!r}: importing the module {module_name!r} fails ({_described(cause)})") from None
    make = getattr(module, attribute, None)
    if not callable(make):
        raise InputError(f"{key}: {name!r}: the module {module_name!r} has no class or function {attribute!r}")
    return make


def _described(cause: Exception) -> str:
    return f"{type(cause).__name__}: {one_line(str(cause))}"
