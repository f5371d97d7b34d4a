"""Templates compiled once for all that a test process makes and forks: that took a third of a short run.

Compiled code depends on the text and on how the environment is set up, which `evolve` does in one way.
"""

from typing import Any

import jinja2

_compile = jinja2.Environment.compile
_compiled: dict[tuple[Any, ...], Any] = {}


def _once(environment: jinja2.Environment, source: Any, *named: Any, **how: Any) -> Any:
    key = (type(environment).__qualname__, source, named, *how.items())
    if key not in _compiled:
        _compiled[key] = _compile(environment, source, *named, **how)
    return _compiled[key]


def share_compiled() -> None:
    """Let this process and its forks compile no text twice."""
    jinja2.Environment.compile = _once  # type: ignore[assignment,method-assign]
