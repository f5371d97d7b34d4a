"""Which names a Python program binds and reads, and where: its scopes, in one walk over its syntax tree.

Whatever is doubtful counts as bound and as visible, so that a name that is not visible here is certain not to be.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# What reads or binds names by their text, or may: of a program that uses it nothing is certain.
_DYNAMIC_NAMES: Final = frozenset(
    {"exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "__import__", "__builtins__"}
    | {"__dict__", "__loader__", "__spec__"}
)
_DYNAMIC_ATTRIBUTES: Final = frozenset(
    {"__dict__", "__globals__", "__builtins__", "__code__", "__defaults__", "__kwdefaults__", "__setattr__"}
    | {"modules", "_getframe", "f_globals", "f_locals", "f_builtins", "settrace", "setprofile", "import_module"}
)
_DYNAMIC_MODULES: Final = frozenset(
    {"builtins", "candidate", "__main__", "importlib", "inspect", "gc", "ctypes", "code", "runpy"}
)
_BUILTIN: Final = frozenset(dir(builtins))


@dataclass(eq=False, slots=True)
class Scope:
    """A module, function, class or comprehension, and the names that it binds, each with the first line that does."""

    node: ast.AST
    parent: "Scope | None"
    bound: dict[str, int] = field(default_factory=dict)

    @property
    def own(self) -> "Scope":
        """The scope that a name bound by `:=` here belongs to: comprehensions have none of their own."""
        scope = self
        while scope.parent is not None and isinstance(scope.node, _COMPREHENSIONS):
            scope = scope.parent
        return scope

    def sees(self, name: str) -> bool:
        """Whether `name` may be read here: bound here or around here (a class's names only in its own body)."""
        first, scope = self.own, self
        while True:
            if name in scope.bound and (scope is first or not isinstance(scope.node, ast.ClassDef)):
                return True
            if scope.parent is None:
                return False
            scope = scope.parent


class Scopes:
    """The scopes of a program: `reads` and `calls` (of plain names) with the scope that each stands in.

    `times` counts how often a name is bound (or deleted, or declared) in the whole file; `functions` are the plain
    ones, not methods, by name; `dynamic` says that names may be bound by their text.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree, None)
        self.all = [self.module]
        self.reads: list[tuple[ast.Name, Scope]] = []
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.times: Counter[str] = Counter()
        self.functions: dict[str, Function] = {}
        self.dynamic = False
        self._waiting: list[tuple[ast.AST, Scope]] = [(node, self.module) for node in tree.body]
        while self._waiting:
            self._look(*self._waiting.pop())
        self.dynamic |= "__getattr__" in self.module.bound

    def unbound(self) -> list[tuple[ast.Name, Scope]]:
        """The reads of names that nothing binds which they could see, and that are no builtins."""
        if self.dynamic:
            return []
        return [
            (name, scope)
            for name, scope in self.reads
            if name.id not in scope.bound  # as most are: locals
            and name.id not in _BUILTIN
            and not name.id.startswith("__")  # a module's own, or changed by the class around
            and not scope.sees(name.id)
        ]

    def plain_calls(self) -> list[tuple[ast.Call, Function]]:
        """Calls that can only be of one function: undecorated, its name bound once in the file and no builtin."""
        if self.dynamic:
            return []
        return [
            (call, function)
            for call, scope in self.calls
            if isinstance(call.func, ast.Name)
            and (function := self.functions.get(call.func.id)) is not None
            and self.times[function.name] == 1
            and not function.decorator_list
            and function.name not in _BUILTIN
            and not function.name.startswith("__")
            and scope.sees(function.name)
        ]

    def _look(self, node: ast.AST, scope: Scope) -> None:
        kind = type(node)
        if kind is ast.Name:
            self._name(node, scope)  # type: ignore[arg-type]
            return
        if kind is ast.Constant:
            return
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, node, scope)
            return
        self._below(node, scope)

    def _below(self, node: ast.AST, scope: Scope, *without: str) -> None:
        for name, value in node.__dict__.items():  # as `ast.iter_child_nodes`, which takes three times as long
            if name in without:
                continue
            if isinstance(value, ast.AST):
                self._waiting.append((value, scope))
            elif type(value) is list:
                self._waiting += [(child, scope) for child in value if isinstance(child, ast.AST)]

    def _bind(self, name: str, scope: Scope, line: int) -> None:
        scope.bound.setdefault(name, line)
        self.times[name] += 1

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if type(node.ctx) is ast.Load:
            self.reads.append((node, scope))
            self.dynamic |= node.id in _DYNAMIC_NAMES
        else:
            self._bind(node.id, scope, node.lineno)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self._bind(node.target.id, scope.own, node.lineno)
        self._waiting.append((node.value, scope))

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self.dynamic |= node.attr in _DYNAMIC_ATTRIBUTES
        self._waiting.append((node.value, scope))

    def _call(self, node: ast.Call, scope: Scope) -> None:
        if isinstance(node.func, ast.Name):
            self.calls.append((node, scope))
        for given in (*node.args, *node.keywords):
            value = given.value if isinstance(given, ast.keyword) else given
            if isinstance(value, ast.Name) and value.id == "__name__":
                self.dynamic = True  # whoever is told the module's name can find it, and bind names in it
        self._below(node, scope)

    def _function(self, node: Function | ast.Lambda, scope: Scope) -> None:
        inner = Scope(node, scope)
        self.all.append(inner)
        if not isinstance(node, ast.Lambda):
            self._bind(node.name, scope, node.lineno)
            if not isinstance(scope.node, ast.ClassDef):
                self.functions[node.name] = node
        arguments = node.args
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if arg is not None:
                self._bind(arg.arg, inner, node.lineno)
        self._below(node, scope, "body")
        body = node.body if isinstance(node.body, list) else [node.body]
        self._waiting += [(child, inner) for child in body]

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._bind(node.name, scope, node.lineno)
        inner = Scope(node, scope)
        self.all.append(inner)
        self._below(node, scope, "body")
        self._waiting += [(child, inner) for child in node.body]

    def _comprehension(self, node: ast.AST, scope: Scope) -> None:
        inner = Scope(node, scope)
        self.all.append(inner)
        self._below(node, inner)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        self.dynamic |= any(module.partition(".")[0] in _DYNAMIC_MODULES for module in modules)
        for alias in node.names:
            self.dynamic |= alias.name in ("*", *_DYNAMIC_ATTRIBUTES)
            self._bind(alias.asname or alias.name.partition(".")[0], scope, node.lineno)

    def _declared(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        """A declared name is bound wherever somebody may bind it by this declaration."""
        for name in node.names:
            self._bind(name, self.module if isinstance(node, ast.Global) else scope, node.lineno)

    def _captured(self, node: ast.AST, scope: Scope) -> None:
        """What binds a name that is no node: a pattern or a handler."""
        name = getattr(node, "rest", None) or getattr(node, "name", None)
        if isinstance(name, str):
            self._bind(name, scope.own, getattr(node, "lineno", 1))
        self._below(node, scope)

    def _type_parameter(self, node: ast.AST, scope: Scope) -> None:
        """A type parameter has a scope of its own between two others: taken for one of the module's."""
        self._captured(node, self.module)


_SPECIAL: Final[dict[type, Callable[[Scopes, Any, Scope], None]]] = {
    ast.NamedExpr: Scopes._walrus,
    ast.Attribute: Scopes._attribute,
    ast.Call: Scopes._call,
    ast.FunctionDef: Scopes._function,
    ast.AsyncFunctionDef: Scopes._function,
    ast.Lambda: Scopes._function,
    ast.ClassDef: Scopes._class,
    **dict.fromkeys(_COMPREHENSIONS, Scopes._comprehension),
    ast.Import: Scopes._import,
    ast.ImportFrom: Scopes._import,
    ast.Global: Scopes._declared,
    ast.Nonlocal: Scopes._declared,
    ast.ExceptHandler: Scopes._captured,
    ast.MatchAs: Scopes._captured,
    ast.MatchStar: Scopes._captured,
    ast.MatchMapping: Scopes._captured,
    # Since Python 3.12:
    **{
        getattr(ast, name): Scopes._type_parameter
        for name in ("TypeVar", "ParamSpec", "TypeVarTuple")
        if hasattr(ast, name)
    },
}
