"""A task's own trusted code, in the harness: loaded with the modules beside it, and blamed by file, line and function.

`judge.py` and `exact.py` may import modules that lie beside them, by their plain names. Those are found by reading the
imports, so that what is loaded is exactly what `digest` tells of; they live under names of their own, so that one
task's `helper` is never another's, and nothing of the standard library or of this house can be replaced by one.
"""

import ast
import builtins
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Any, Final

from evaluator.errors import TaskError
from evaluator.untrusted import one_line

RAISED: Final = (Exception, SystemExit)
"""What a task's code may raise and be blamed for: everything but the interruption of the harness itself."""
_NEVER_BESIDE: Final = sys.stdlib_module_names | {"evaluator", "evolve"}


class TaskModule:
    """One file of a task (`judge.py`), with the modules beside it that it imports."""

    def __init__(self, path: Path, functions: Sequence[str]) -> None:
        """Load the file, which must define `functions`. Raises TaskError."""
        self.path = path
        self._sources = _read(path)
        self.digest = _digest(self._sources)
        self._modules: dict[str, ModuleType] = {}
        self._loading = threading.RLock()  # an import may stand in a function, and functions run in several threads
        self._builtins = {**vars(builtins), "__import__": self._import}
        try:
            self._module = self._load(path.stem)
        except RAISED as cause:
            raise self.blame(cause) from cause
        for name in functions:
            if self.function(name) is None:
                raise TaskError(f"{path}: does not define {name}()")

    def function(self, name: str) -> Callable[..., Any] | None:
        """The function of that name; None when the file does not define one."""
        found = getattr(self._module, name, None)
        return found if callable(found) else None

    def blame(self, cause: BaseException, name: str = "", where: str = "") -> TaskError:
        """What was raised by the function `name` (empty: while the file was loaded), told by the innermost line of
        the task's own; `where` says what it was called for."""
        called = f"{name}()" if name else "while it was loaded"
        place = f"{self.path}, {called}"
        files = {str(path) for path, _ in self._sources.values()}
        for frame, line in walk_tb(cause.__traceback__):
            code = frame.f_code
            if code.co_filename in files:
                inner = "" if code.co_name in (name, "<module>") else f" for {called}"
                place = f"{code.co_filename} line {line}, {_named(code)}{inner}"
        if isinstance(cause, SyntaxError) and cause.filename in files:
            place = f"{cause.filename} line {cause.lineno}"
        return TaskError(f"{place}: raised {told(cause)}{where}")

    def wrong(self, name: str, what: str) -> TaskError:
        """The function `name` did what it must not, though it raised nothing."""
        code = getattr(self.function(name), "__code__", None)
        if not isinstance(code, CodeType):
            return TaskError(f"{self.path}, {name}(): {what}")
        return TaskError(f"{code.co_filename} line {code.co_firstlineno}, {name}(): {what}")

    def _load(self, name: str) -> ModuleType:
        with self._loading:
            if name in self._modules:
                return self._modules[name]
            path, content = self._sources[name]
            # The whole name has no dot, so that pickle and dataclasses find the module by it.
            module = ModuleType(f"evaluator_task_{self.digest[:16]}_{name}")
            module.__file__ = str(path)
            module.__dict__["__builtins__"] = self._builtins
            self._modules[name] = sys.modules[module.__name__] = module
            try:
                exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
            except BaseException:  # boundary: half a module must not be found by the next import
                del self._modules[name], sys.modules[module.__name__]
                raise
            return module

    def _import(
        self,
        name: str,
        globals_: Mapping[str, Any] | None = None,
        locals_: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """`__import__` as the task's modules have it: first what lies beside them."""
        if level == 0 and name in self._sources:
            return self._load(name)
        return builtins.__import__(name, globals_, locals_, fromlist or (), level)


def told(cause: BaseException) -> str:
    """An exception's type and message on one line. The message may hold what a candidate answered."""
    try:
        message = one_line(str(cause), 300)
    except Exception:  # noqa: BLE001 - boundary: the class is the task's own, and may not even be printable
        message = ""
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__


def _named(code: CodeType) -> str:
    return "while it was loaded" if code.co_name == "<module>" else f"{code.co_name}()"


def _read(path: Path) -> dict[str, tuple[Path, bytes]]:
    """The file and every module beside it that it imports, directly or not, anywhere in it. Raises TaskError."""
    found: dict[str, tuple[Path, bytes]] = {}
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if one.stem in found:
            continue
        try:
            content = one.read_bytes()
            tree = ast.parse(content, filename=str(one))
        except OSError as cause:
            raise TaskError(f"{one}: cannot be read ({cause.strerror})") from None
        except SyntaxError as cause:
            raise TaskError(f"{one} line {cause.lineno}: is not Python ({cause.msg})") from None
        except (ValueError, RecursionError, MemoryError) as cause:  # null bytes, endless nesting
            raise TaskError(f"{one}: is not Python ({told(cause)})") from None
        found[one.stem] = (one, content)
        waiting += [beside for name in _imports(tree) if (beside := path.parent / f"{name}.py").is_file()]
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    """The plain names of the modules that are imported, but for those that can never lie beside."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            if name.isidentifier() and name not in _NEVER_BESIDE:
                yield name


def _digest(sources: Mapping[str, tuple[Path, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, (_, content) in sorted(sources.items()):
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()
