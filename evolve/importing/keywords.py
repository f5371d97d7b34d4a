"""What a Python script hands to ShinkaEvolve's configuration, read from its text: nothing of it is run."""

import ast
import textwrap
from collections.abc import Mapping
from typing import Any, Final

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
        section = _SECTIONS.get(_called(node.func)) if isinstance(node, ast.Call) else None
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


def _called(function: ast.expr) -> str:
    """The last name of what is called."""
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


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
    name = _called(node.func)
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
