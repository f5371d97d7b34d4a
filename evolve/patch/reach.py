"""Which parts of a program are run for all that is known, and end it if they raise. Whatever is doubtful is left out.

Left out is what may never run (a function that nothing refers to, what stands behind a switch, an exception handler,
what follows a `return`) and what may fail without harm (inside a `try` that catches names or types, inside a `with`).
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from evolve.patch.scopes import Function

# Decorators of the standard library under which a function is called as it stands.
_PLAIN_DECORATORS: Final = frozenset(
    {"lru_cache", "cache", "cached_property", "total_ordering", "dataclass", "staticmethod", "classmethod", "property"}
)
# Where what a function raises may end with nobody told.
_APART: Final = frozenset({"threading", "concurrent", "asyncio", "multiprocessing", "signal", "atexit", "weakref"})
_ENDS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Reach:
    """What runs when the module is executed and then `entry_point` is called. `nodes` are the expressions that do."""

    def __init__(self, tree: ast.Module, entry_point: str) -> None:
        everything = list(ast.walk(tree))
        self._varying = frozenset(_varying(everything))
        self._guarded = any(_may_swallow(node) for node in everything)
        self._plain = _PLAIN_DECORATORS - {
            node.id if isinstance(node, ast.Name) else node.name
            for node in everything
            if isinstance(node, Function | ast.ClassDef) or (isinstance(node, ast.Name) and type(node.ctx) is ast.Store)
        }
        self._annotated = sys.version_info < (3, 14) and not any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in everything
        )
        self.nodes: set[ast.AST] = set()
        self._functions: dict[str, list[Function]] = {}
        self._methods: dict[str, list[Function]] = {}
        self._called: set[str] = {entry_point}
        self._attributes: set[str] = set()
        self._waiting: list[tuple[ast.AST, bool]] = []
        self._block(tree.body, False)
        while self._waiting:
            self._run(*self._waiting.pop())

    def _run(self, node: ast.AST, local: bool) -> None:
        """Take note that `node` is run; `local`: in a function, where annotations are not."""
        if isinstance(node, ast.stmt):
            self._statement(node, local)
            return
        self.nodes.add(node)
        if isinstance(node, ast.Call):
            self._refer(node.func)
        elif isinstance(node, ast.Name | ast.Attribute) and not self._guarded:
            self._refer(node)
        if isinstance(node, ast.IfExp):
            self._branches(node.test, [node.body], [node.orelse], local)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self._waiting.append((value, local))
                if self._is_switch(value):
                    break
        elif isinstance(node, ast.Lambda | ast.GeneratorExp) and self._guarded:
            if isinstance(node, ast.GeneratorExp):
                self._waiting.append((node.generators[0].iter, local))
            else:
                self._expressions(_defaults(node.args), local)
        elif isinstance(node, ast.Lambda):
            self._expressions([*_defaults(node.args), node.body], True)
        else:
            self._expressions(ast.iter_child_nodes(node), local)

    def _statement(self, node: ast.stmt, local: bool) -> None:
        if isinstance(node, Function):
            self._define(node, local, node.name, self._functions, self._called)
        elif isinstance(node, ast.ClassDef):
            self._class(node, local)
        elif isinstance(node, ast.If):
            self._branches(node.test, node.body, node.orelse, local)
        elif isinstance(node, ast.While):
            self._branches(node.test, node.body, [] if _constant(node.test) else node.orelse, local)
        elif isinstance(node, ast.For):
            self._expressions([node.target, node.iter], local)
            self._block(node.body, local)
            self._block(node.orelse, local)
        elif isinstance(node, ast.Try):
            if not _swallows(node):
                self._block(node.body, local)
                self._block(node.orelse, local)
            if not _leaves(node.finalbody):
                self._block(node.finalbody, local)
        elif isinstance(node, ast.With):
            self._waiting.append((node.items[0].context_expr, local))  # the next one is inside of the first
        elif isinstance(node, ast.Match):
            self._waiting.append((node.subject, local))
            if not self._is_switch(node.subject):
                for case in node.cases:
                    self._block(case.body, local)
        elif isinstance(node, ast.AnnAssign):
            values = [node.value] if node.value is not None else []
            targets = [node.target] if values or not isinstance(node.target, ast.Name) else []
            shown = [node.annotation] if self._annotated and not local else []
            self._expressions([*values, *targets, *shown], local)
        elif isinstance(node, ast.Assert):
            self._waiting.append((node.test, local))
        elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Raise | ast.Delete):
            self._expressions(ast.iter_child_nodes(node), local)

    def _block(self, statements: Iterable[ast.stmt], local: bool) -> None:
        for statement in statements:
            self._waiting.append((statement, local))
            if _ends(statement):
                break

    def _expressions(self, nodes: Iterable[ast.AST], local: bool) -> None:
        self._waiting += [(node, local) for node in nodes]

    def _branches(self, test: ast.expr, then: Iterable[ast.AST], otherwise: Iterable[ast.AST], local: bool) -> None:
        """What hangs on a test: both sides, or the one that a constant chooses, or neither of what may be a switch."""
        self._waiting.append((test, local))
        known = _constant(test)
        if known is None and self._is_switch(test):
            return
        for chosen, side in ((True, then), (False, otherwise)):
            if known in (None, chosen):
                self._block(side, local)  # type: ignore[arg-type]  # an expression ends no block

    def _is_switch(self, test: ast.expr) -> bool:
        """Whether a test may come out the same in every run: it, or a part that `and` or `or` joins to the rest, reads
        nothing that a function is given or computes."""
        if isinstance(test, ast.BoolOp):
            return any(self._is_switch(value) for value in test.values)
        return not any(isinstance(node, ast.Name) and node.id in self._varying for node in ast.walk(test))

    def _define(
        self, node: Function, local: bool, name: str, known: dict[str, list[Function]], wanted: set[str]
    ) -> None:
        """A definition: its defaults are evaluated now, its body is run once somebody refers to `name`."""
        self._expressions([*node.decorator_list, *_defaults(node.args)], local)
        if self._annotated and not getattr(node, "type_params", []):
            self._expressions(_annotations(node), local)
        # A coroutine is run by a loop, a generator by whoever asks it for values, and that may be inside a `try`.
        later = isinstance(node, ast.AsyncFunctionDef) or (self._guarded and _is_generator(node))
        if not later and self._is_plain(node):
            known.setdefault(name, []).append(node)
            if name in wanted:
                self._block(node.body, True)

    def _class(self, node: ast.ClassDef, local: bool) -> None:
        """A class: its body is run now, unless a metaclass may put names there; methods once they are referred to."""
        self._expressions([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)], local)
        if node.keywords or not self._is_plain(node):
            return
        for statement in node.body:
            if not isinstance(statement, Function):
                if not node.bases:
                    self._waiting.append((statement, local))
            elif statement.name in ("__init__", "__post_init__"):
                self._define(statement, local, node.name, self._functions, self._called)
            else:
                self._define(statement, local, statement.name, self._methods, self._attributes)

    def _is_plain(self, node: Function | ast.ClassDef) -> bool:
        """Whether nothing decorates it, or only what is known to call it as it stands."""
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if (called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")) not in self._plain:
                return False
        return True

    def _refer(self, node: ast.expr) -> None:
        """Somebody calls what stands here, or hands it to whoever may call it."""
        name, known, wanted = "", self._functions, self._called
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.Attribute):
            name, known, wanted = node.attr, self._methods, self._attributes
        if name and name not in wanted:
            wanted.add(name)
            for function in known.get(name, ()):
                self._block(function.body, True)


def _varying(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that functions are given, or bind to what they compute."""
    for node in nodes:
        if isinstance(node, Function | ast.Lambda):
            arguments = node.args
            optional = len(arguments.defaults)
            given = [*arguments.posonlyargs, *arguments.args]
            yield from (arg.arg for arg in given[: len(given) - optional])
            yield from (
                arg.arg
                for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                if default is None
            )
            if isinstance(node, ast.Lambda):
                continue
            fixed = {
                target
                for statement in ast.walk(node)
                if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant)
                for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            }
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner not in fixed:
                    yield inner.id


def _may_swallow(node: ast.AST) -> bool:
    """Whether what is raised in a function that is handed on may end here, and be no failure."""
    if isinstance(node, ast.Try):
        return _swallows(node) or _leaves(node.finalbody)
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in _APART for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in _APART
    return isinstance(node, ast.With | ast.AsyncWith) or type(node).__name__ == "TryStar"


def _swallows(node: ast.Try) -> bool:
    """Whether a NameError or TypeError in the body may be caught, or replaced."""
    kinds: list[ast.expr | None] = []
    for handler in node.handlers:
        kinds += handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return _leaves(node.finalbody) or any(kind is None or not _is_unrelated(kind) for kind in kinds)


def _is_unrelated(kind: ast.expr) -> bool:
    error = getattr(builtins, kind.id, None) if isinstance(kind, ast.Name) else None
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        return False
    return not any(issubclass(raised, error) or issubclass(error, raised) for raised in (NameError, TypeError))


def _leaves(final: list[ast.stmt]) -> bool:
    """Whether a `finally` may end in another way than it was entered."""
    return any(isinstance(node, ast.Return | ast.Break | ast.Continue) for part in final for node in ast.walk(part))


def _ends(node: ast.AST) -> bool:
    """Whether nothing that follows in the same block is run."""
    if isinstance(node, ast.If):
        return bool(node.orelse) and _ends(node.body[-1]) and _ends(node.orelse[-1])
    if isinstance(node, ast.While):
        return _constant(node.test) is True and not any(isinstance(inner, ast.Break) for inner in ast.walk(node))
    return isinstance(node, _ENDS)


def _constant(test: ast.expr) -> bool | None:
    return bool(test.value) if isinstance(test, ast.Constant) else None


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def _annotations(node: Function) -> list[ast.expr]:
    arguments = node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    found = [arg.annotation for arg in every if arg is not None]
    return [annotation for annotation in (*found, node.returns) if annotation is not None]


def _is_generator(node: Function) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))
