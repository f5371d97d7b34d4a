"""The settings and imports in Python files of another system, read from their text: none of their code is run."""

import ast
import builtins
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.core.errors import InputError
from evolve.core.files import read_text
from evolve.core.python_source import called, top_level_names

_SECTIONS: Final = {
    "EvolutionConfig": "evo_config",
    "DatabaseConfig": "db_config",
    "LocalJobConfig": "job_config",
    "SlurmDockerJobConfig": "job_config",
    "SlurmCondaJobConfig": "job_config",
    "SlurmEnvJobConfig": "job_config",
}


class _NotPlain(Exception):
    """A value is computed, so its text does not show it."""


def configured_in(source: str) -> tuple[dict[str, Any], list[str]]:
    """The sections (`evo_config`, `db_config`, `job_config`) of calls such as `EvolutionConfig(...)` in a script, and
    the keys whose values are computed and thus unknown. Raises SyntaxError."""
    tree = ast.parse(source)
    names: dict[str, ast.expr] = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    sections: dict[str, Any] = {}
    computed: list[str] = []
    for section, key, node in _settings(tree):
        values = sections.setdefault(section, {})
        try:
            value = _plain(node, names)
        except _NotPlain:
            computed.append(f"{section}.{key}")
            continue
        values |= value if key == "**" and isinstance(value, dict) else {key: value}
    return sections, computed


def _settings(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    """Section, key and value of each argument of such a call, and of each `config["evo_config"]["key"] = value`. The
    key of `**values` is `**`; sections read from a file (`**config["evo_config"]`) are skipped."""
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
    """The names in `config["evo_config"]["key"]` or `evo_config.key`, from left to right; else empty."""
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
    """The value of an expression of literals and names of the module's constants. Raises _NotPlain."""
    if isinstance(node, ast.Name) and node.id in names:  # each name once, so that none can refer to itself
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
        return _plain_call(node, names)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _NotPlain from None


def _plain_call(node: ast.Call, names: Mapping[str, ast.expr]) -> Any:
    """The value of `dict(...)`, `dedent(text)` or `text.strip()`. Raises _NotPlain."""
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


def packer_in(source: str) -> str | None:
    """The function that makes one text of a program's folder, in a script that starts OpenEvolve: the one whose result
    it writes into a file. None without such a function, or with several. Raises SyntaxError."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    if not any(called(call) == "OpenEvolve" for call in calls):
        return None
    written = [argument for call in calls if called(call) in ("write_text", "write") for argument in call.args]
    names = {each.func.id for each in written if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    names = {name for name in names if not hasattr(builtins, name)}
    return names.pop() if len(names) == 1 else None


def names_in(path: Path) -> frozenset[str]:
    """The names that a Python file defines or imports outside functions and classes (`*` for a star import). Raises
    InputError for anything but Python."""
    try:
        return frozenset(top_level_names(ast.parse(read_text(path))))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{one_line(str(path))}: is not a Python program ({one_line(str(error))})") from None


def absent(
    files: Mapping[str, bytes], roots: Collection[str], stand_ins: Collection[str]
) -> tuple[list[str], list[str]]:
    """The missing modules that the Python files `roots` import, directly or through `files`: they are neither in
    `files`, nor in the standard library, nor installed, nor among the `stand_ins`. First those imported at load time,
    then those that only functions import. An import in a `try` may fail, and is ignored."""
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
    """The possible files of a module and its packages."""
    parts = module.split(".")
    stems = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [f"{stem}{ending}" for stem in stems for ending in (".py", "/__init__.py")]


def _imported(content: bytes) -> Iterator[tuple[str, bool]]:
    """The modules that a file imports outside a `try`, and whether a function does so; none for invalid Python."""
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
