"""What the Python files of another system's folder say, read from their text: nothing of theirs is run."""

import ast
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.errors import InputError
from evolve.files import read_text
from evolve.python_source import called, top_level_names

_SECTIONS: Final = {
    "EvolutionConfig": "evo_config",
    "DatabaseConfig": "db_config",
    "LocalJobConfig": "job_config",
    "SlurmDockerJobConfig": "job_config",
    "SlurmCondaJobConfig": "job_config",
    "SlurmEnvJobConfig": "job_config",
}


class _NotPlain(Exception):
    """A value is computed, so that its text does not say what it is."""


def configured_in(source: str) -> tuple[dict[str, Any], list[str]]:
    """The sections (`evo_config`, `db_config`, `job_config`) of the calls `EvolutionConfig(...)` and their like in a
    script, with the keys whose values are computed and so not known. Raises SyntaxError."""
    tree = ast.parse(source)
    names: dict[str, ast.expr] = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    found: dict[str, Any] = {}
    computed: list[str] = []
    for node in ast.walk(tree):
        section = _SECTIONS.get(called(node)) if isinstance(node, ast.Call) else None
        if section is None:
            continue
        assert isinstance(node, ast.Call)
        values = found.setdefault(section, {})
        for keyword in node.keywords:
            key = keyword.arg or "**"
            try:
                value = _plain(keyword.value, names)
            except _NotPlain:
                computed.append(f"{section}.{key}")
                continue
            values |= value if key == "**" and isinstance(value, dict) else {key: value}
    return found, computed


def _plain(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """The value that an expression spells out, also by the name of a constant of the module. Raises _NotPlain."""
    if isinstance(node, ast.Name) and node.id in names:  # each name once, so that none can mean itself
        return _plain(names[node.id], {name: value for name, value in names.items() if name != node.id})
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(entry, names) for entry in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]
        return dict(zip(keys, (_plain(value, names) for value in node.values), strict=True))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _plain(node.left, names), _plain(node.right, names)
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        raise _NotPlain
    if isinstance(node, ast.Call):
        return _made(node, names)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _NotPlain from None


def _made(node: ast.Call, names: Mapping[str, ast.expr]) -> Any:
    """What `dict(...)`, `dedent(text)` and `text.strip()` make. Raises _NotPlain."""
    name = called(node)
    if name == "dict" and not node.args and all(keyword.arg for keyword in node.keywords):
        return {str(keyword.arg): _plain(keyword.value, names) for keyword in node.keywords}
    if name == "dedent" and len(node.args) == 1:
        text = _plain(node.args[0], names)
        if isinstance(text, str):
            return textwrap.dedent(text)
    if name == "strip" and not node.args and isinstance(node.func, ast.Attribute):
        text = _plain(node.func.value, names)
        if isinstance(text, str):
            return text.strip()
    raise _NotPlain


def names_in(path: Path) -> frozenset[str]:
    """The names that a Python file defines or imports outside of functions and classes (`*` where it imports whatever
    there is). Raises InputError where it is no Python."""
    try:
        return frozenset(top_level_names(ast.parse(read_text(path))))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{one_line(str(path))}: is no Python program ({one_line(str(error))})") from None


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
