"""The loop: propose, apply, evaluate, record; its progress, and going on where it stopped.

This package can be called: `evolve.run(...)` begins a run. Python sets the attribute `run` of `evolve` to this package
as soon as any of its modules is imported, so that a function of that name could not stand there for long.
"""

import inspect
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return sys.modules["evolve"].begin_run(*arguments, **settings)  # the function stands above: the package has it

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(sys.modules["evolve"].begin_run)


sys.modules[__name__].__class__ = _Callable
