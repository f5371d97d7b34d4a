"""The changes that a patch made, as data, computed from the two sources alone."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from evaluator.program_files import Files
from evolve.core.errors import ProgramError
from evolve.core.python_source import parsed
from evolve.lang.languages import PYTHON, Language, language_of
from evolve.lang.literals import literals

MAX_FEATURES = 8
"""The most features of one patch: a rewrite changes everything, which says nothing."""


def features_of(before: Files, after: Files) -> tuple[str, ...]:
    """The differences between two programs; of several files each is led by its path, and whole files count, too."""
    if len(before) == len(after) == 1 and (path := next(iter(after))) in before:
        return features(before.only, after.only, language_of(path))
    differences = [f"add {path}" for path in after if path not in before]
    differences += [f"remove {path}" for path in before if path not in after]
    for path, text in after.items():
        if path in before and before[path] != text:
            changed = features(before[path], text, language_of(path)) or ("change",)
            differences += [f"{path}: {feature}" for feature in changed]
    return tuple(differences[:MAX_FEATURES])


def lines_changed_of(before: Files, after: Files) -> int:
    """How many lines differ, in all files together."""
    return sum(lines_changed(before.get(path, ""), after.get(path, "")) for path in {*before, *after})


def features(before: str, after: str, language: Language = PYTHON) -> tuple[str, ...]:
    """The differences between two programs, by name and without doubles.

    `add f` and `remove f` for functions (`C.m` for a method), `raise X`, `lower X` and `set X` for constants at the top
    level; without any of these, `change f` for each function whose text differs. () for invalid Python. Of another
    language, only named constants are known.
    """
    if language is not PYTHON:
        return tuple(_moved(_constants(before, language), _constants(after, language)))[:MAX_FEATURES]
    old, new = _parts(before), _parts(after)
    if old is None or new is None:
        return ()
    (functions, constants), (functions_after, constants_after) = old, new
    differences = [f"add {name}" for name in functions_after if name not in functions]
    differences += [f"remove {name}" for name in functions if name not in functions_after]
    differences += _moved(constants, constants_after)
    if not differences:
        differences = [f"change {name}" for name, text in functions_after.items() if functions[name] != text]
    return tuple(differences[:MAX_FEATURES])


def lines_changed(before: str, after: str) -> int:
    """How many lines differ: the larger count of lines that only one of the two has. Empty lines, indentation and order
    do not count."""
    old, new = (Counter(line.strip() for line in source.split("\n") if line.strip()) for source in (before, after))
    return max((old - new).total(), (new - old).total())


def _moved(constants: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    for name, value in after.items():
        if name in constants and constants[name] != value:
            yield f"{_direction(constants[name], value)} {name}"


def _constants(source: str, language: Language) -> dict[str, object]:
    return {literal.name: literal.value for literal in literals(source, language) if literal.name is not None}


def _direction(old: object, new: object) -> str:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return "raise" if new > old else "lower"
    return "set"


def _parts(source: str) -> tuple[dict[str, str], dict[str, object]] | None:
    """The text of each function and the value of each constant at the top level; None for invalid Python."""
    try:
        tree = parsed(source)
    except ProgramError:
        return None
    lines = source.split("\n")
    functions = {name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for name, node in _functions(tree)}
    constants: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return functions, constants


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{method.name}", method
