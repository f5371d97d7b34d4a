"""What is asked of the sandbox: how candidates are to be confined, and what is enough."""

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
"""What a candidate may import, apart from the packages of its task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What is to confine candidates: the layers of their own, bubblewrap's program (None: without it), the imports.

    What may be imported is no boundary, only good manners: behind a module that is refused here stands the kernel.
    """

    layers: tuple[str, ...] = OF_CANDIDATE
    bubblewrap: str | None = None
    importable: tuple[str, ...] = IMPORTABLE

    @property
    def level(self) -> str:
        """The level that it comes to where every layer is there."""
        return level_of(self.layers if self.bubblewrap is None else (*self.layers, BUBBLEWRAP))


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Which confinement is enough: the strongest level that this machine reaches, but none below `require_level`
    ("standard", "strong"); `unsafe` allows level "none", where the machine reaches no other. `confinement` takes
    exactly those layers (for measurements and tests)."""

    require_level: str | None = None
    unsafe: bool = False
    confinement: Confinement | None = None


STRONGEST: Final = SandboxOptions()
"""What is asked for where nobody asks for anything else."""
