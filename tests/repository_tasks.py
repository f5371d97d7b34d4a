"""Tasks out of small repositories, and changes of their programs."""

import shutil
import sys
from pathlib import Path

import yaml

from evaluator.places import PROGRAMS
from evaluator.program_files import Files
from evaluator.task import Task
from evaluator.task_files import load_task

NEARBY = PROGRAMS / "repositories" / "nearby"
PYTHON_PATH = [str(Path(sys.executable).parent), "/usr/bin", "/bin"]
DISTANCE, SEARCH = "nearby/distance.py", "nearby/search.py"

FASTER = '''"""The edit distance of two words."""


def distance(first: str, second: str) -> int:
    """The least number of letters to insert, delete or replace that makes `second` of `first`."""
    above = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        line, left, diagonal = [row], row, row - 1
        for other, over in zip(second, above[1:]):
            least = diagonal if letter == other else 1 + min(left, over, diagonal)
            line.append(least)
            left, diagonal = least, over
        above = line
    return above[-1]
'''


def nearby_task(folder: Path, **keys: object) -> Task:
    """The task of the shipped example, in a new folder; `keys` are of `repository`."""
    shutil.copytree(NEARBY, folder / "repository", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return written(folder, {"edit": ["nearby/*.py"], "test": "python -m pytest -q", "bench": "python bench.py"} | keys)


def written(folder: Path, keys: dict[str, object]) -> Task:
    """The task in a folder whose tree is there, with these keys of `repository`."""
    own = {"edit": keys.pop("edit"), "new_files": keys.pop("new_files", False)}
    document = own | {
        "repository": {"commit": "0" * 40, "path": PYTHON_PATH} | keys,
        "limits": {"cpu_total_s": 10, "wall_s": 30, "memory_mb": 512},
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(document))
    return load_task(str(folder))


def changed(program: Files, **texts: str) -> Files:
    """A program with other texts of `distance` and `search`."""
    paths = {"distance": DISTANCE, "search": SEARCH}
    return program.changed({paths[name]: text for name, text in texts.items()})


_BEFORE = (NEARBY / DISTANCE).read_text()
_LAST = "    return table[len(first)][len(second)]"
_FIRST = "    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]"
_NARROWED = '''"""Searching a list of words."""

from collections.abc import Sequence

from nearby.distance import distance


def nearest(word: str, words: Sequence[str], count: int = 3) -> list[str]:
    """The `count` words with the least distance from `word`; among equals the earlier ones in the list."""
    found: list[tuple[int, int]] = []
    for place, other in enumerate(words):
        if len(found) == count and abs(len(word) - len(other)) > found[-1][0]:
            continue
        found = sorted([*found, (distance(word, other), place)])[:count]
    return [words[place] for _, place in found]
'''
_CACHED = (
    "    import json, pathlib\n"
    "    kept = pathlib.Path('kept.json')\n"
    "    known = json.loads(kept.read_text()) if kept.exists() else {}\n"
    "    if first + ' ' + second in known:\n"
    "        return known[first + ' ' + second]\n" + _FIRST
)
_KEEPING = (
    "    if len(first) > 9:\n"
    "        kept.write_text(json.dumps({**known, first + ' ' + second: table[-1][-1]}))\n" + _LAST
)


def _before_the_last(line: str) -> dict[str, str]:
    return {DISTANCE: _BEFORE.replace(_LAST, f"{line}\n{_LAST}")}


PROPOSALS: dict[str, dict[str, str]] = {
    "breaks tests": _before_the_last("    table[-1][-1] += 1"),
    "slower": _before_the_last("    sum(range(3000))"),
    "noise only": {DISTANCE: _BEFORE.replace(_LAST, "    answer = table[len(first)][len(second)]\n    return answer")},
    "edits the tests": {"tests/test_search.py": "def test_nothing() -> None:\n    pass\n"},
    "caches between runs": {DISTANCE: _BEFORE.replace(_FIRST, _CACHED).replace(_LAST, _KEEPING)},
    "crashes": _before_the_last("    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)"),
    "never ends": _before_the_last("    while True:\n        pass"),
    "writes outside": _before_the_last("    open('/etc/evolve-was-here', 'w').close()"),
    "good": {DISTANCE: FASTER},
    "two files": {DISTANCE: FASTER.replace("above", "over_it"), SEARCH: _NARROWED},
}
"""What a model may answer to the shipped example: whole files by path."""


def answers(names: list[str]) -> str:
    """A file of answers for a scripted model, which needs patches of the kind `full`."""
    texts = []
    for name in names:
        files = "".join(f"FILE: {path}\n```python\n{text}```\n" for path, text in PROPOSALS[name].items())
        texts.append(f"<NAME>{name}</NAME><DESCRIPTION>It {name}.</DESCRIPTION><CODE>\n{files}</CODE>")
    return yaml.safe_dump({"answers": texts})


_SUM_C = """int sum(const int *numbers, int count)
{
    int total = 0;
    for (int rounds = 200; rounds > 0; rounds--) {
        total = 0;
        for (volatile int place = 0; place < count; place++)
            total += numbers[place];
    }
    return total;
}
"""
_CHECK_C = """#include <stdio.h>
#include "sum.h"
static int failed;
static void check(int number, int right, const char *name)
{
    printf("%sok %d - %s\\n", right ? "" : "not ", number, name);
    failed |= !right;
}
int main(void)
{
    int numbers[] = {1, 2, 3};
    printf("1..3\\n");
    check(1, sum(numbers, 0) == 0, "nothing");
    check(2, sum(numbers, 1) == 1, "one");
    check(3, sum(numbers, 3) == 6, "adds");
    return failed;
}
"""
_BENCH_C = """#include "sum.h"
int main(void)
{
    static int numbers[1000000];
    return sum(numbers, 1000000);
}
"""
_MAKEFILE = """all: check bench
%: src/%.o src/sum.o
\tcc -o $@ $^
src/%.o: src/%.c src/sum.h
\tcc -O1 -c -o $@ $<
"""


def in_c(folder: Path) -> Task:
    """A task of a small library in C, with a Makefile and tests that print TAP."""
    files = {"src/sum.c": _SUM_C, "src/sum.h": "int sum(const int *, int);\n", "Makefile": _MAKEFILE}
    files |= {"src/check.c": _CHECK_C, "src/bench.c": _BENCH_C}
    for name, text in files.items():
        path = folder / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return written(
        folder, {"edit": ["src/sum.c"], "build": "make -s", "test": "./check", "bench": "./bench", "tests": 3}
    )
