"""Entry points that other systems' programs have for a shipped task, where they differ from the task's own.

The published circle packing programs take no argument and return centres, radii and their own sum of the radii, which
is left out here.
"""

from typing import Final

_CIRCLES: Final = """

def {entry}(n):
    centers, radii, *_ = {function}()
    return [(float(x), float(y), float(r)) for (x, y), r in zip(centers, radii)]
"""
_CONVENTIONS: Final = {"circle_packing": {"run_packing": _CIRCLES, "construct_packing": _CIRCLES}}
"""By task: the functions of other systems, the first one first, and the text that calls one as the task's own."""


def with_entry_point(source: str, task: str, entry: str) -> str:
    """The program with the entry point of a task. Unchanged where it has that, or no function of another system."""
    if _defines(source, entry):
        return source
    conventions = _CONVENTIONS.get(task, {})
    function = next((name for name in conventions if _defines(source, name)), None)
    return source if function is None else source + conventions[function].format(entry=entry, function=function)


def _defines(source: str, function: str) -> bool:
    return any(line.startswith(f"def {function}(") for line in source.splitlines())
