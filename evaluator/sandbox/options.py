"""Options of the sandbox: how candidates are confined, and which level is enough."""

from dataclasses import dataclass
from typing import Final

from evaluator.sandbox.layers import BUBBLEWRAP, OF_CANDIDATE, level_of

IMPORTABLE: Final = (
    *("abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "datetime"),
    *("decimal", "enum", "fractions", "functools", "graphlib", "heapq", "hashlib", "io", "itertools", "json"),
    *("logging", "math", "numbers", "operator", "os", "pprint", "queue", "random", "re", "signal", "statistics"),
    *("string", "struct", "sys", "textwrap", "time", "traceback", "types", "typing", "warnings", "weakref"),
    "__future__",
)
"""The modules that every candidate may import; its task adds packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """How candidates are confined: their own layers, bubblewrap's program (None: without it), the importable modules.
    The latter are a convenience and no boundary: what a module could do, the kernel refuses."""

    layers: tuple[str, ...] = OF_CANDIDATE
    bubblewrap: str | None = None
    importable: tuple[str, ...] = IMPORTABLE

    @property
    def level(self) -> str:
        """The level of these layers."""
        return level_of(self.layers if self.bubblewrap is None else (*self.layers, BUBBLEWRAP))


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Which confinement is enough: the strongest level of this machine, at least `require_level` ("standard",
    "strong"); `unsafe` allows level "none" where the machine reaches no other. `confinement` takes exactly those layers
    (for measurements and tests)."""

    require_level: str | None = None
    unsafe: bool = False
    confinement: Confinement | None = None


STRONGEST: Final = SandboxOptions()
"""The default."""
