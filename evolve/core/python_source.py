"""Python programs: parsed, never deeper than a bound, and facts from their syntax trees."""

import ast
import functools
import itertools
import threading
import warnings
from collections.abc import Iterator

from evaluator.program_files import MOST_FILE_BYTES
from evolve.core.errors import ProgramError

MAX_SOURCE_BYTES = 64 * 1024
"""The most for a program of one file; a file of several may have `evaluator.program_files.MOST_FILE_BYTES`."""
MAX_DEPTH = 200
"""Levels of a program's syntax tree: walking one stays far from the interpreter's recursion limit."""

_CANDIDATE = "<candidate>"
_PARSING = threading.Lock()
"""Python before 3.11.8 raises SystemError when two threads make trees at once (CPython issue 106905)."""

# The compiler's warnings on a candidate ("invalid escape sequence") stay off the user's terminal. The filter names the
# file name that candidates are compiled under, so that no other warning is hidden.
warnings.filterwarnings("ignore", module=_CANDIDATE)


@functools.lru_cache(maxsize=4)
def parsed(source: str) -> ast.Module:
    """The syntax tree of a source, shared by all callers: they must not change it. Raises ProgramError with line and
    reason if it has none.

    Nothing is compiled here, since a few lines can take the compiler gigabytes: that happens in the sandbox.
    """
    if len(source) > MOST_FILE_BYTES:
        raise ProgramError(f"{len(source)} characters of source; a file may have at most {MOST_FILE_BYTES} bytes")
    tree = _parsed(source)
    if line := deeper_than(tree, MAX_DEPTH):
        raise ProgramError(
            f"nested more than {MAX_DEPTH} levels deep (operators and elif count, too); use a loop or a table instead",
            line=line,
        )
    return tree


def tree_of(text: str) -> ast.Module:
    """A new syntax tree of a text, on any thread. Raises what `ast.parse` raises."""
    with _PARSING:
        tree = compile(text, _CANDIDATE, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def _parsed(source: str) -> ast.Module:
    try:
        return tree_of(source)
    except SyntaxError as error:
        raise ProgramError(f"not valid Python: {error.msg}", line=error.lineno or None) from None
    except (RecursionError, MemoryError):
        # The parser reports nesting beyond its stack as either of the two.
        raise ProgramError("not valid Python: an expression or statement is nested too deeply") from None
    except ValueError as error:  # a NUL byte, a lone surrogate
        raise ProgramError(f"not valid Python: {error}") from None


def levels(tree: ast.Module) -> Iterator[list[ast.AST]]:
    """The nodes of a tree, level by level from the top."""
    level: list[ast.AST] = [tree]
    while level:
        yield level
        below: list[ast.AST] = []
        for node in level:  # as `ast.iter_child_nodes`, which takes three times as long
            for value in node.__dict__.values():
                if isinstance(value, ast.AST):
                    below.append(value)
                elif type(value) is list:
                    below += [child for child in value if isinstance(child, ast.AST)]
        level = below


def deeper_than(tree: ast.Module, most: int) -> int:
    """The line of a node that is more than `most` levels down; 0 when there is none."""
    deepest = next(itertools.islice(levels(tree), most, None), None)
    return 0 if deepest is None else getattr(deepest[0], "lineno", 1)


def top_level_names(tree: ast.Module) -> set[str]:
    """The names that running the module binds: definitions, assignments and imports outside functions and classes."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            continue  # `solve: Callable` declares, and binds nothing
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def first_line(node: ast.stmt) -> int:
    """The first line (from 1) of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def called(call: ast.Call) -> str:
    """The last name of the called function: `Random` of `random.Random(7)`."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


# Fields without influence on what a program does: the context of a name follows from its place.
_SILENT_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_FIELDS: dict[type, tuple[str, ...]] = {}
_WITH_DOCSTRING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def tokens(tree: ast.Module) -> list[str]:
    """The tree as a unique list of strings, made without recursion; comments, layout and docstrings are no part of it.

    An absent field and an empty list are left out with their names, so that a field that a later Python adds does not
    change the hashes of programs that do not use it.
    """
    strings: list[str] = []
    emit = strings.append
    stack: list[object] = [tree]
    pop, push = stack.pop, stack.append
    while stack:
        item = pop()
        kind = type(item)
        if kind is str:
            emit(item)  # type: ignore[arg-type]  # a field's name or a closing bracket, pushed below
            continue
        fields = _FIELDS.get(kind)
        if fields is None:
            assert isinstance(item, ast.AST)
            fields = _FIELDS[kind] = tuple(name for name in reversed(item._fields) if name not in _SILENT_FIELDS)
        emit(kind.__name__)
        push(")")
        for name in fields:
            value = getattr(item, name, None)
            if value is None and kind is not ast.Constant and kind is not ast.MatchSingleton:
                continue
            if isinstance(value, ast.AST):
                push(value)
            elif type(value) is list:
                if not value:
                    continue
                if name == "body" and kind in _WITH_DOCSTRING and _is_docstring(value[0]):
                    value = value[1:]
                push("]")
                for part in reversed(value):
                    push(part if isinstance(part, ast.AST) else _literal(part))
            else:
                push(_literal(value))
            push(name)
    return strings


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and type(node.value.value) is str


def _literal(value: object) -> str:
    # Hex, because a long integer has no decimal form beyond the interpreter's limit of digits.
    return f"{value:#x}" if type(value) is int else ascii(value)
