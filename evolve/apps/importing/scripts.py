"""What the Python files of another system's folder say, read from their text: nothing of theirs is run."""

import ast
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.core.errors import InputError
from evolve.core.files import read_text
from evolve.lang.python_source import called, top_level_names

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
    for section, key, node in _settings(tree):
        values = found.setdefault(section, {})
        try:
            value = _plain(node, names)
        except _NotPlain:
            computed.append(f"{section}.{key}")
            continue
        values |= value if key == "**" and isinstance(value, dict) else {key: value}
    return found, computed


def _settings(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    """Section, key and value of each argument of such a call, and of each `config["evo_config"]["key"] = value`. The
    key of `**values` is `**`; a section that is read from a file (`**config["evo_config"]`) is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (section := _SECTIONS.get(called(node))) is not None:
            for keyword in node.keywords:
                if keyword.arg is not None or section not in _path(keyword.value)[1:]:
                    yield section, keyword.arg or "**", keyword.value
        elif isinstance(node, ast.Assign) and len(path := _path(node.targets[0])) > 1:
            *_, section, key = path
            if section in _SECTIONS.values():
                yield section, key, node.value


def _path(node: ast.expr) -> list[str]:
    """The names in `config["evo_config"]["key"]` or `evo_config.key`, from left to right; none of anything else."""
    names: list[str] = []
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        elif isinstance(node.slice, ast.Constant):
            names.append(str(node.slice.value))
        else:
            return []
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


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


def absent(
    files: Mapping[str, bytes], roots: Collection[str], stand_ins: Collection[str]
) -> tuple[list[str], list[str]]:
    """The modules that the Python files `roots`, and what they import of `files`, cannot import: neither in `files`,
    nor of the standard library, nor installed, nor one of the `stand_ins`. First those that a file imports as it is
    loaded, then those that only functions import. An import in a `try` may fail, and is not looked at."""
    waiting, seen = [name for name in roots if name.endswith(".py")], set[str]()
    missing: dict[bool, set[str]] = {False: set(), True: set()}
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for module, later in _imported(files[file]):
            own = [name for name in _files_of(module) if name in files]
            waiting += own
            top = module.partition(".")[0]
            if own or top in sys.stdlib_module_names or PathFinder.find_spec(top) is not None:
                continue
            if module not in stand_ins and not any(name.startswith(f"{top}/") for name in files):
                in_part = any(name.startswith(f"{top}.") or name == top for name in stand_ins)
                missing[later].add(module if in_part else top)
    return sorted(missing[False]), sorted(missing[True] - missing[False])


def _files_of(module: str) -> list[str]:
    """The files that a module may stand in, its packages' too."""
    parts = module.split(".")
    stems = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [f"{stem}{ending}" for stem in stems for ending in (".py", "/__init__.py")]


def _imported(content: bytes) -> Iterator[tuple[str, bool]]:
    """The modules that a file imports, but for those in a `try`, and whether a function does; none of a file that is no
    Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, later = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, later) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, later
        elif not isinstance(node, ast.Try):
            later = later or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            waiting += [(child, later) for child in ast.iter_child_nodes(node)]
