"""Which packages an evaluator imports that are not there, seen in its text."""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder


def absent(files: Mapping[str, bytes], roots: Collection[str], stand_ins: Collection[str]) -> list[str]:
    """The modules that the Python files `roots`, and what they import of `files`, import in vain: neither in `files`,
    nor of the standard library, nor installed, nor one of the `stand_ins`. An import in a `try` may fail, and is not
    looked at."""
    waiting, seen, missing = [name for name in roots if name.endswith(".py")], set[str](), set[str]()
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for module in _imported(files[file]):
            own = [name for name in _files_of(module) if name in files]
            waiting += own
            top = module.partition(".")[0]
            if own or top in sys.stdlib_module_names or PathFinder.find_spec(top) is not None:
                continue
            if module not in stand_ins and not any(name.startswith(f"{top}/") for name in files):
                missing.add(module if any(name.startswith(f"{top}.") or name == top for name in stand_ins) else top)
    return sorted(missing)


def _files_of(module: str) -> list[str]:
    """The files that a module may stand in, its packages' too."""
    parts = module.split(".")
    stems = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [f"{stem}{ending}" for stem in stems for ending in (".py", "/__init__.py")]


def _imported(content: bytes) -> Iterator[str]:
    """The modules that a file imports, but for those in a `try`; none of a file that is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
        elif not isinstance(node, ast.Try):
            waiting += ast.iter_child_nodes(node)
