"""How many programs that work are refused for an undefined name (none), and how many misspelt ones are.

    PYTHONPATH=. python tests/benchmarks/undefined_names.py

Looked at: the standard library of this Python (without its tests, some of which fail on purpose), NumPy, SciPy,
pydantic and GitPython as installed, and every Python program in programs/, tests/, evolve/ and evaluator/. The entry
point of each file is, in turn, each function at its top. An alarm is printed with its line, so that it can be looked
at: tests/attacks/examined/know_the_hash_seed.py is no whole program, a test puts the line before it that binds `USUAL`.

Then each read of a name in a program of programs/ is misspelt, one at a time (60 of each, drawn by a seed): what share
is refused. The rest is left to the sandbox, which runs it.
"""

import ast
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evolve.core.errors import ProgramError
from evolve.core.python_source import parsed
from evolve.patch.undefined import pyflakes_names, undefined_names

ROOT: Final = Path(__file__).resolve().parent.parent.parent
STDLIB, SITE = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
TESTS: Final = {"test", "tests", "idle_test", "lib2to3", "site-packages", "ingredients"}
SAMPLES: Final = 60


def entry_points(source: str) -> list[str]:
    """Every function at the top of a file."""
    return [node.name for node in parsed(source).body if isinstance(node, ast.FunctionDef)] or ["none"]


def alarms(paths: Iterator[Path]) -> tuple[int, int, list[str]]:
    """How many files are programs, in how many of them pyflakes finds an undefined name, and what is said of them."""
    looked, doubtful, alarms_found = 0, 0, list[str]()
    for path in paths:
        try:
            source = path.read_text(encoding="utf-8")
            undefined = bool(pyflakes_names(parsed(source)))
            entries = entry_points(source) if undefined else []
            found = {(n.lineno, n.id) for entry in entries for n in undefined_names(source, entry)}
        except (UnicodeDecodeError, ProgramError):
            continue  # no program here: too large, of another Python
        looked, doubtful = looked + 1, doubtful + undefined
        alarms_found += [f"{path}:{line}: {name}" for line, name in sorted(found)]
    return looked, doubtful, alarms_found


def files(folder: Path, without: set[str]) -> Iterator[Path]:
    """The Python files below a folder."""
    return (path for path in sorted(folder.rglob("*.py")) if not without & set(path.relative_to(folder).parts))


def misspelt(source: str, rng: random.Random) -> Iterator[str]:
    """The program with one read of a name misspelt."""
    names = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    lines = source.splitlines(keepends=True)
    for name in rng.sample(names, min(SAMPLES, len(names))):
        line = lines[name.lineno - 1].encode()
        end = name.col_offset + len(name.id.encode())
        changed = (line[:end] + b"_misspelt" + line[end:]).decode()
        yield "".join([*lines[: name.lineno - 1], changed, *lines[name.lineno :]])


def main() -> None:
    """Print both."""
    for what, paths in {
        "standard library": files(STDLIB, TESTS),
        **{name: files(SITE / name, set()) for name in ("numpy", "scipy", "pydantic", "git")},
        **{name: files(ROOT / name, {"ingredients"}) for name in ("programs", "tests", "evolve", "evaluator")},
    }.items():
        looked, doubtful, alarms_found = alarms(paths)
        print(
            f"{what}: {looked} files, undefined names in {doubtful}, {len(alarms_found)} alarms",
            *alarms_found,
            sep="\n  ",
        )
    rng, refused, tried = random.Random(0), 0, 0
    for path in files(ROOT / "programs", {"ingredients", "templates"}):
        source = path.read_text(encoding="utf-8")
        last = entry_points(source)[-1]
        found = [bool(undefined_names(program, last)) for program in misspelt(source, rng)]
        refused, tried = refused + sum(found), tried + len(found)
    print(f"misspelt: {refused} of {tried} refused")


if __name__ == "__main__":
    main()
