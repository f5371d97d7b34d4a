"""Claims about the complete programs of `programs/placement/families/`: each stands alone and answers; no copies."""

import ast
import json
import os
import re
import subprocess
import sys
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task
from evaluator.tasks.placement import adapter, judge

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "programs" / "placement" / "families"
PATHS = sorted(FOLDER.glob("*.py"))
ALIKE = 0.5  # two programs may share at most so much, names and comments aside

# Runs a program on instances given as JSON, and prints its answers and what it left in the global generator.
RUN = """
import json, random, runpy, sys
from evaluator.tasks.placement import adapter
place = runpy.run_path(sys.argv[1])["compute_model_placement"]
random.seed(int(sys.argv[2])); before = random.getstate()
answers = []
for instance in json.load(sys.stdin):
    arguments, encode = adapter.prepare(instance)
    answers.append(encode(place(*arguments)))
print(json.dumps({"answers": answers, "untouched": random.getstate() == before}))
"""


def instances(*suites: tuple[str, int]) -> list[dict[str, Any]]:
    task = load_task("placement")
    return [dict(instance.data) for name, count in suites for instance in task.suite(name).instances[:count]]


SMALL = instances(("adrs-holdout", 1), ("tight", 1))
EDGES: list[dict[str, Any]] = [
    {"gpu_num": 1, "models": [[20, 3, 5], [30, 1, 9]]},
    {"gpu_num": 3, "models": [[79, 9, 5]]},
    {"gpu_num": 2, "models": [[40, 2, 5], [39, 2, 5], [39, 3, 7], [40, 1, 8]]},
]


def run(path: Path, seed: int) -> Any:
    """What a program answers in a process of its own, with another hash seed and another global generator."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(path), str(seed)],
        input=json.dumps(SMALL + EDGES),
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.nightly if at % 3 else ()) for at, path in enumerate(PATHS)],
    ids=[path.stem for path in PATHS],
)
def test_a_program_answers_every_instance_alike_in_every_process(path: Path) -> None:
    first, second = run(path, 1), run(path, 2)
    assert first == second
    assert first["untouched"], "it draws from the global generator"
    for instance, answer in zip(SMALL + EDGES, first["answers"], strict=True):
        assert judge.judge(instance, answer) > 0  # or it raises: a model left out, a memory that is full


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_program_says_what_it_is_and_looks_at_no_clock(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or ""
    assert [word for word in ("Idea: ", "Cost: ", "Origin: ") if f"\n{word}" not in docstring] == []
    block = text.partition("# EVOLVE-BLOCK-START\n")[2].partition("# EVOLVE-BLOCK-END\n")[0]
    assert "def compute_model_placement(gpu_num, models):\n" in block
    assert text.count("EVOLVE-BLOCK") == 2
    assert text.endswith("# EVOLVE-BLOCK-END\n")
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"random", "math", "heapq", "itertools", "numpy"}
    assert len(text.splitlines()) <= 200


def shape(path: Path) -> list[str]:
    """The statements of a program, without names, numbers, comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    return [re.sub(r"(id|arg|attr|name|value)='?[^',()]*'?", r"\1", line) for line in lines]


def test_no_program_is_nearly_another() -> None:
    shapes = {path.stem: shape(path) for path in PATHS}
    alike = {
        (one, other): SequenceMatcher(None, shapes[one], shapes[other], autojunk=False).ratio()
        for one, other in combinations(shapes, 2)
    }
    assert {pair: ratio for pair, ratio in alike.items() if ratio > ALIKE} == {}


def test_none_is_an_ingredient_of_the_offline_proposer() -> None:
    ingredients = (ROOT / "programs" / "placement" / "ingredients").glob("*.py")
    assert {path.stem for path in PATHS} & {path.stem for path in ingredients} == set()


def kept(suite: str) -> dict[str, Any]:
    data = json.loads((ROOT / "programs" / "measured.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = data["placement"]["suites"][suite]["families"]
    return found


@pytest.mark.parametrize("suite", sorted(load_task("placement").suites))
def test_the_table_holds_the_scores_of_these_files_and_each_answers_everything(suite: str) -> None:
    results = {name.partition("/")[2]: found for name, found in kept(suite).items() if name.startswith("families/")}
    assert sorted(results) == [path.stem for path in PATHS]
    count = len(load_task("placement").suite(suite).instances)
    assert {name: found["answered"] for name, found in results.items()} == dict.fromkeys(results, count)


def test_a_quick_program_scores_what_the_table_says() -> None:
    for suite in ("adrs", "tight-holdout"):
        whole, costs = load_task("placement").suite(suite), []
        place = _entry(FOLDER / "bottleneck_descent.py")
        for instance in whole.instances:
            arguments, encode = adapter.prepare(dict(instance.data))
            costs.append(float(judge.judge(instance.data, encode(place(*arguments)))))
        expected = kept(suite)["families/bottleneck_descent"]["score"]
        assert 1 + len(costs) / sum(costs) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("suite", "lacking", "programs"),
    [("adrs", 1e-6, 5), ("tight", 1e-3 * 2.09, 1), ("skewed", 1e-3 * 2.21, 1), ("fleet", 5e-4 * 1.92, 1)],
)
def test_many_programs_come_so_near_to_the_ceiling(suite: str, lacking: float, programs: int) -> None:
    near = [name for name, found in kept(suite).items() if found["score"] >= found["ceiling"] - lacking]
    assert len(near) >= programs


def _entry(path: Path) -> Any:
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names["compute_model_placement"]
