"""What a program is made of, as far as documents speak of it: its operators and its named constants."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy:
    """The operators of a vocabulary that a source uses, in its order, and its named numeric constants."""

    operators: tuple[str, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()  # name and value, as written
    functions: int = 0
    lines: int = 0
    about: str = ""  # the first line of its docstring

    @property
    def known(self) -> bool:
        """Whether there was a source to look at."""
        return self.lines > 0


def anatomy(source: str, vocabulary: Sequence[str] = ()) -> Anatomy:
    """Take a source apart; one that is missing or not Python gives the empty anatomy."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Anatomy()
    defined = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    operators = sorted(
        (name for name in set(vocabulary) if name in defined and name in used),
        key=lambda name: (defined[name].lineno, name),
    )
    return Anatomy(
        operators=tuple(operators),
        constants=tuple(_constants(tree, source)),
        functions=len(defined),
        lines=len(source.splitlines()),
        about=(ast.get_docstring(tree) or "").strip().split("\n")[0],
    )


def _constants(tree: ast.Module, source: str) -> list[tuple[str, str]]:
    """NAME = number at the top level of a module, but for what stands outside a block that evolves."""
    lines = source.splitlines()
    starts = [n for n, line in enumerate(lines, 1) if re.match(r"\s*#\s*EVOLVE-BLOCK-START", line)]
    ends = [n for n, line in enumerate(lines, 1) if re.match(r"\s*#\s*EVOLVE-BLOCK-END", line)]
    found: list[tuple[str, str]] = []
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Constant):
            continue
        if isinstance(value.value, bool) or not isinstance(value.value, (int, float)):
            continue
        if starts and not any(s < node.lineno < e for s, e in zip(starts, ends, strict=False)):
            continue
        found.append((target.id, ast.unparse(value)))
    return found
