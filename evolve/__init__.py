"""Evolve: LLM-driven algorithm discovery with scores you can trust. The public names are those of `evolve.api`.

A name is imported when it is first used, so that the commands start at once.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as `typing` has it; type checkers take it for True

if TYPE_CHECKING:
    from evolve.api import *  # noqa: F403
else:  # a type checker must find the public names, and nothing else

    def __getattr__(name):
        """Load a public name when it is first used."""
        from importlib import import_module

        api = import_module("evolve.api")
        if name != "__all__" and name not in api.__all__:
            raise AttributeError(f"module 'evolve' has no attribute {name!r}")
        value = globals()[name] = [*api.__all__, "__version__"] if name == "__all__" else getattr(api, name)
        return value

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
