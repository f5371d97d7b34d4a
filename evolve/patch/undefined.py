"""Names that a Python program is certain to lack: pyflakes calls them undefined, and every run reads them.

Every run reads the top of the module and of the entry point, outside of branches, loops, `try`, `with` and classes. So
a program that works is never refused.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from evolve.core.errors import PatchError
from evolve.core.program import split_lines
from evolve.core.python_source import deeper_than, parsed
from evolve.patch.format import PatchReason, shown

_MAX_LEVELS: Final = 100  # of the tree that pyflakes walks by recursion, with three frames a level
_DYNAMIC: Final = re.compile(  # what may bind a name by its text
    r"\b(exec|eval|globals|locals|vars|setattr|builtins|modules|importlib|inspect|gc|ctypes|gettext|candidate|_getframe"
    r"|f_globals|f_locals|f_builtins|global_enum|_convert_|__(builtins|dict|globals|import|main|setattr)__)\b"
)
_WHOLE: Final = ast.expr | ast.keyword | ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Raise


def check_names(source: str, *, parent_source: str, parent_works: bool, entry_point: str, path: str = "") -> None:
    """Raise PatchError if every run of `source` reads a name that is not defined, and a parent that works does not.

    `source` is Python, and only itself binds names in it: it is executed, then `entry_point` is called ("": nothing).
    `path` names the file among several.
    """
    undefined = undefined_names(source, entry_point)
    if undefined and parent_works:
        harmless = {name.id for name in undefined_names(parent_source, entry_point)}
        undefined = [name for name in undefined if name.id not in harmless]
    if undefined:
        lines = split_lines(source)
        where = f"{path}, " if path else ""
        faults = [
            f"{where}line {n.lineno}: name `{n.id}` is not defined\n{n.lineno:5d} | {shown(lines[n.lineno - 1])}"
            for n in undefined
        ]
        raise PatchError(
            PatchReason.WOULD_FAIL,
            "The program that results is certain to fail: "  # the first one on this line, which lists show
            + "\n".join(faults[:8])
            + "\nLines are numbered as the patch would leave them. Define or import it. Nothing was applied: send the "
            "whole patch again.",
        )


def undefined_names(source: str, entry_point: str) -> list[ast.Name]:
    """The undefined names that every run reads, in order. Raises ProgramError for invalid Python."""
    tree = parsed(source)
    if _DYNAMIC.search(source) or deeper_than(tree, _MAX_LEVELS):
        return []
    undefined = pyflakes_names(tree)
    if not undefined:
        return []
    read = [name for name in _always_read(tree, entry_point) if (name.lineno, name.col_offset, name.id) in undefined]
    return sorted(read, key=lambda name: (name.lineno, name.col_offset))


def pyflakes_names(tree: ast.Module) -> set[tuple[int, int, str]]:
    """Line, column and name of each name that pyflakes calls undefined, without deleted names (it ignores the condition
    of a `del`) and names with two underscores (it does not know all of a module's)."""
    from pyflakes.messages import UndefinedName

    messages = [message for message in _checker()(tree, withDoctest=False).messages if type(message) is UndefinedName]
    if not messages:
        return set()
    deleted = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
    undefined = {(message.lineno, message.col, message.message_args[0]) for message in messages}
    return {place for place in undefined if place[2] not in deleted and not place[2].startswith("__")}


@cache
def _checker() -> Any:
    """pyflakes' checker without annotations in quotes: they are not evaluated, and it would parse them itself."""
    from pyflakes.checker import Checker

    class Unquoted(Checker):  # type: ignore[misc]  # pyflakes has no types
        def handleStringAnnotation(self, *_: object) -> None:  # noqa: N802 - its name there
            """Look at none."""

    return Unquoted


def _always_read(tree: ast.Module, entry_point: str) -> Iterator[ast.Name]:
    evaluated = list(_always_evaluated(tree.body))
    elsewhere = sum(_names(node, entry_point) for node in ast.walk(tree)) > 1  # then it may be another one
    for node in tree.body if not elsewhere else ():
        if isinstance(node, ast.FunctionDef) and node.name == entry_point and not node.decorator_list:
            evaluated += _always_evaluated(node.body) if not _contains(node, ast.Yield | ast.YieldFrom) else ()
    return (node for node in evaluated if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


def _names(node: ast.AST, name: str) -> bool:
    """Whether a node may bind a name: it has it, and does not read it."""
    return name in vars(node).values() and not isinstance(getattr(node, "ctx", None), ast.Load)


def _contains(node: ast.AST, kinds: Any) -> bool:
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _always_evaluated(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes that are evaluated whenever these statements begin, up to one that may leave them."""
    for statement in body:
        waiting: list[ast.AST | None] = [statement]
        while waiting:
            node = waiting.pop()
            if node is not None:
                yield node
                waiting += _always_parts(node)
        if _contains(statement, ast.Return):
            return


def _always_parts(node: ast.AST) -> Sequence[ast.AST | None]:
    """The parts of a statement or an expression that are evaluated whenever it is."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.decorator_list
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return [node.test]
        case ast.For():
            return [node.iter]
        case ast.AnnAssign():
            return [node.value]
        case ast.BoolOp():
            return node.values[:1]
        case ast.Compare():
            return [node.left, node.comparators[0]]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter]
        case ast.Lambda():
            return []
    return list(ast.iter_child_nodes(node)) if isinstance(node, _WHOLE) else []
