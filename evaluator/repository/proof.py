"""Proof that the files of a program are what the tests and the benchmark run.

Each file is replaced in turn by one that no language loads. If neither the tests nor the benchmark then fail, they run
something else: an installed copy of the package, say, or they do not use the file.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from evaluator.repository.commands import CommandFailed, RepositoryCommands
from evaluator.untrusted import one_line

BROKEN: Final = ")]} this file is broken on purpose, to see whether it is what runs {[(\n"
_WHERE: Final = """
import importlib.util, os, sys
sys.path[:] = [place for place in sys.path if place not in ("", os.getcwd())]
for name in {names!r}:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # boundary: finding `a.b` imports `a`, the repository's own code; another name may do
        continue
    if spec is not None and spec.origin:
        print(os.path.realpath(spec.origin))
        break
"""


def unused_files(commands: RepositoryCommands) -> Iterator[tuple[str, str | None]]:
    """Each file without which tests and benchmark still end well, with the path of the file that is used instead (None:
    not known). Raises HarnessError and EvaluationCancelled."""
    for path in commands.unchanged:
        try:
            with commands.tree(commands.unchanged.changed({path: BROKEN})) as tree:
                commands.test(tree)
                commands.measure(tree)
                yield path, _used_instead(commands, path)
        except CommandFailed:
            continue


def _used_instead(commands: RepositoryCommands, path: str) -> str | None:
    """The installed module that Python finds in place of a file; None where there is none."""
    if not path.endswith(".py"):
        return None
    with commands.tree(commands.unchanged) as tree:
        shown = commands.printed(_python(_WHERE.format(names=_modules(path))), tree)
    lines = shown.strip().splitlines()
    return one_line(lines[-1], 400) if lines and lines[-1].startswith("/") else None


def _python(code: str) -> str:
    """A shell command that runs the Python of the PATH."""
    quoted = code.replace("'", "'\\''")
    return f"$(command -v python || command -v python3) -c '{quoted}'"


def _modules(path: str) -> list[str]:
    """The names by which a file may be imported, the longest first: `src.a.b`, `a.b`, `b`."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return [".".join(parts[skipped:]) for skipped in range(len(parts))]
