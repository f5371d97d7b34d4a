"""A task's own trusted code, in the harness: loaded with its helper modules, blamed by file, line and function.

`judge.py` and `exact.py` may import modules and packages of their own folder, as a script does. The imports are read
from the source, so that `digest` covers exactly what is loaded (of a package: every module in it). The modules get
names of their own: one task's `helper` never replaces another's, nor a module of Python or of this project. What such
code prints goes to stderr: stdout is for answers.
"""

import ast
import builtins
import hashlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.places import content_of
from evaluator.untrusted import one_line

RAISED: Final = (Exception, SystemExit)
"""The exceptions that a task's code is blamed for: all but the interruption of the harness itself."""
_INIT: Final = "__init__.py"
_CACHE: Final = "__pycache__"
_NEVER_LOCAL: Final = frozenset({"evaluator", "evolve", "__future__", "builtins", "sys"})


class TaskModule:
    """One file of a task (`judge.py`), with the modules of its folder that it imports."""

    def __init__(self, path: Path, functions: Sequence[str], *, passed: tuple[type[Exception], ...] = ()) -> None:
        """Load the file, which must define `functions`; exceptions of types `passed` go through. Raises TaskError."""
        self.path = path
        self._passed = passed
        self._sources = _read(path)
        self.digest = _digest(self._sources)
        self._modules: dict[str, ModuleType] = {}
        self._loading = threading.RLock()  # an import may stand in a function, and functions run in several threads
        self._builtins = {**vars(builtins), "__import__": self._import, "print": _print}
        try:
            self._module = self._load(path.stem)
        except RAISED as cause:
            raise self.blame(cause) from cause
        for name in functions:
            if self.function(name) is None:
                raise TaskError(f"{path}: does not define {name}()")

    def function(self, name: str) -> Callable[..., Any] | None:
        """The function of that name; None when the file does not define one."""
        value = self.value(name)
        return value if callable(value) else None

    def value(self, name: str) -> Any:
        """The value of a name in the file; None when it is not defined."""
        return getattr(self._module, name, None)

    def call(self, name: str, where: str, *arguments: object, **options: object) -> Any:
        """Call a function that the file defines; `where` says for what, in messages. Raises TaskError."""
        function = self.function(name)
        assert function is not None  # the caller has seen it
        try:
            return function(*arguments, **options)
        except self._passed:
            raise
        except RAISED as cause:
            raise self.blame(cause, name, where) from cause

    def check_signature(self, name: str, parameters: Sequence[str]) -> None:
        """Raises TaskError when the file defines that function and it cannot take these parameters."""
        function = self.function(name)
        if function is None:
            return
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # a function of C has no signature: the call shows whether it fits
            return
        try:
            signature.bind(*parameters)
        except TypeError:
            wanted = ", ".join(parameters)
            raise self.wrong(name, f"is called as {name}({wanted}), and takes {signature}") from None

    def blame(self, cause: BaseException, name: str = "", where: str = "") -> TaskError:
        """The error for what the function `name` raised (empty: while the file was loaded), with the innermost line of
        the task's own code; `where` says what the function was called for."""
        called = f"{name}()" if name else "while it was loaded"
        place = f"{self.path}, {called}"
        files = {str(path) for path, _ in self._sources.values()}
        for frame, line in walk_tb(cause.__traceback__):
            code = frame.f_code
            if code.co_filename in files:
                inner = "" if code.co_name in (name, "<module>") else f" for {called}"
                where_in = "while it was loaded" if code.co_name == "<module>" else f"{code.co_name}()"
                place = f"{code.co_filename} line {line}, {where_in}{inner}"
        if isinstance(cause, SyntaxError) and cause.filename in files:
            place = f"{cause.filename} line {cause.lineno}"
        return TaskError(f"{place}: raised {describe_error(cause)}{where}")

    def wrong(self, name: str, what: str) -> TaskError:
        """The error for a function that raised nothing and returned something wrong."""
        code = getattr(self.function(name), "__code__", None)
        if not isinstance(code, CodeType):
            return TaskError(f"{self.path}, {name}(): {what}")
        return TaskError(f"{code.co_filename} line {code.co_firstlineno}, {name}(): {what}")

    def misdefined(self, name: str, what: str) -> TaskError:
        """The error for a value of the file (`INSTANCES`) that is wrong or missing."""
        lines = self._sources[self.path.stem][1].decode("utf-8", "replace").splitlines()
        word = name.partition("[")[0].removesuffix("()")
        line = next((number for number, text in enumerate(lines, 1) if text.startswith((word, f"def {word}"))), None)
        where = "" if line is None else f" line {line}"
        return TaskError(f"{self.path}{where}: {name} {what}")

    def _load(self, name: str) -> ModuleType:
        with self._loading:
            if name in self._modules:
                return self._modules[name]
            above, _, last = name.rpartition(".")
            parent = self._load(above) if above else None
            if name in self._modules:  # the package has imported it
                return self._modules[name]
            path, content = self._sources[name]
            # Without a dot in the name pickle and dataclasses find the module in sys.modules.
            module = ModuleType(f"evaluator_task_{self.digest[:16]}_{name.replace('.', '__')}")
            module.__file__ = str(path)
            module.__package__ = name if path.name == _INIT or path.is_dir() else above
            module.__dict__["__builtins__"] = self._builtins
            self._modules[name] = sys.modules[module.__name__] = module
            try:
                exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
            except BaseException:  # boundary: half a module must not be found by the next import
                del self._modules[name], sys.modules[module.__name__]
                raise
            if parent is not None:
                setattr(parent, last, module)
            return module

    def _import(
        self,
        name: str,
        globals_: Mapping[str, Any] | None = None,
        locals_: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """`__import__` of the task's modules: their own folder comes first."""
        if level:
            name = importlib.util.resolve_name("." * level + name, (globals_ or {}).get("__package__") or "")
        top = name.partition(".")[0]
        if top not in self._sources:
            return builtins.__import__(name, globals_, locals_, fromlist or (), 0)
        if name not in self._sources:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = self._load(name)
        for wanted in fromlist or ():
            if f"{name}.{wanted}" in self._sources:
                self._load(f"{name}.{wanted}")
        return module if fromlist else self._load(top)


def _print(*values: object, file: Any = None, **how: Any) -> None:
    print(*values, file=sys.stderr if file is None or file is sys.stdout else file, **how)


def describe_error(cause: BaseException) -> str:
    """An exception's type and message on one line. The message may hold a candidate's answer."""
    try:
        message = one_line(str(cause), 300)
    except Exception:  # noqa: BLE001 - boundary: the class is the task's own, and may not even be printable
        message = ""
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__


def describe_value(value: object) -> str:
    """A value from a task's code in a few words; its `repr` may raise, or be endless."""
    try:
        text = one_line(repr(value), 80)
    except Exception:  # noqa: BLE001 - boundary: the class may be the task's own
        text = "an object"
    return f"{text} ({type(value).__name__})"


def _read(path: Path) -> dict[str, tuple[Path, bytes]]:
    """The file and all modules of its folder that it imports, directly or not, by dotted name. Raises TaskError."""
    sources: dict[str, tuple[Path, bytes]] = {}
    waiting = [(path.stem, path)]
    while waiting:
        name, module = waiting.pop()
        if name in sources:
            continue
        if module.is_dir():  # a package without __init__.py
            content = b""
        else:
            content = content_of(module)
            with must_be_python(module):
                tree = ast.parse(content, filename=str(module))
            waiting += [part for top in _imports(tree) if top not in sources for part in _local(path.parent, top)]
        sources[name] = (module, content)
    return sources


@contextmanager
def must_be_python(path: Path) -> Iterator[None]:
    """Turn what parsing or compiling raises inside the block into a TaskError that names the file."""
    try:
        yield
    except SyntaxError as cause:
        raise TaskError(f"{path} line {cause.lineno}: is not Python ({cause.msg})") from None
    except (ValueError, RecursionError, MemoryError) as cause:  # null bytes, endless nesting
        raise TaskError(f"{path}: is not Python ({describe_error(cause)})") from None


def _local(folder: Path, top: str) -> list[tuple[str, Path]]:
    """The modules, by dotted name, that importing `top` may load from the folder; empty where it is not there."""
    package = folder / top
    if not package.is_dir():
        return [(top, folder / f"{top}.py")] if (folder / f"{top}.py").is_file() else []
    modules = [file for file in sorted(package.rglob("*.py")) if _CACHE not in file.parts]
    if not modules:
        return []
    parts: dict[str, Path] = {}
    for file in modules:
        names = [top, *file.relative_to(package).with_suffix("").parts]
        for depth in range(1, len(names)):  # the packages around it, which need no __init__.py
            parts.setdefault(".".join(names[:depth]), package.joinpath(*names[1:depth]))
        parts[".".join(names[:-1] if file.name == _INIT else names)] = file
    return list(parts.items())


def _imports(tree: ast.AST) -> Iterator[str]:
    """The top names of the imported modules, without those that no task may replace."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top.isidentifier() and top not in _NEVER_LOCAL:
                yield top


def _digest(sources: Mapping[str, tuple[Path, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, (_, content) in sorted(sources.items()):
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()
