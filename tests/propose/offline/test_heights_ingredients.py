"""The ingredients of tasks that ask for heights: small, bounded, without an answer, and none enough by itself."""

import ast
import random
import runpy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from evaluator.places import PROGRAMS
from evaluator.task_files import load_task
from evolve.propose.offline.ingredients import (
    MAX_LINES,
    SHARED,
    Library,
    applicable,
    insert,
    load_library,
    read_ingredient,
)
from evolve.propose.offline.outline import Outline

pytest.importorskip("scipy")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A task, what its uniform initial program costs, and `bar`, which its offline search reaches with 100 programs."""

    name: str
    max_n: int
    initial_cost: float
    bar: float
    descended: float  # what every rule for a step reaches
    steps: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return PROGRAMS / self.name

    @cached_property
    def collection(self) -> Library:
        return load_library(self.folder / "ingredients")

    @cached_property
    def initial(self) -> Outline:
        return Outline((self.folder / "initial.py").read_text(), "heights")

    def cost(self, heights: list[float]) -> float:
        task = load_task(self.name)
        verdict = task.judge.judge(task.suite().instances[0], heights)
        assert verdict.cost is not None, verdict.detail
        return float(verdict.cost)

    def answered(self, source: str) -> list[float]:
        space: dict[str, Any] = {}
        exec(compile(source, "candidate.py", "exec"), space)
        heights: list[float] = space["heights"](self.max_n)
        return heights

    def with_operators(self, names: tuple[str, ...]) -> str:
        outline = self.initial
        for name in names:
            chosen = self.collection.of(name)
            assert chosen is not None
            if name in outline.reached:
                continue
            done = insert(self.collection, outline, chosen, random.Random(0))
            assert done is not None, name
            outline = Outline(done[0], "heights")
        return outline.source


SUBJECTS = [
    Subject(
        name="autocorrelation",
        max_n=2000,
        initial_cost=2,
        bar=1.53,
        descended=1.8,
        steps=("step_plain", "step_multiplied", "step_momentum", "step_adam"),
    ),
    Subject(
        name="erdos_overlap",
        max_n=4096,
        initial_cost=0.5,
        bar=0.3825,
        descended=0.39,
        steps=("step_plain", "step_momentum", "step_adam"),
    ),
]
FILES = [(subject, path) for subject in SUBJECTS for path in sorted((subject.folder / "ingredients").glob("*.py"))]
SOME = [
    pytest.param(subject, path, id=f"{subject.name}-{path.stem}", marks=[pytest.mark.slow] if at % 8 else [])
    for at, (subject, path) in enumerate(FILES)
]
ids = [f"{subject.name}-{path.stem}" for subject, path in FILES]


@pytest.mark.parametrize("path", [path for _, path in FILES], ids=ids)
def test_is_small_and_holds_no_list_of_numbers_clock_or_shared_generator(path: Path) -> None:
    ingredient = read_ingredient(path)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ingredient.role == SHARED or ingredient.result or ingredient.slot
    imported, drawn, numbers = set(), set(), 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
            drawn.add(node.attr)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            numbers += 1
            assert len(str(node.value)) <= 6, node.value  # no constant is that of a published list
        elif isinstance(node, ast.While):
            pytest.fail("a loop that no count bounds")
    assert imported <= {"scipy"}
    assert drawn <= {"default_rng"}
    assert numbers <= 40


@pytest.mark.parametrize(("subject", "path"), SOME)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])  # whatever operators come with it
def test_alone_in_the_initial_program_it_does_no_harm_and_stays_above_the_bar(
    subject: Subject, path: Path, seed: int
) -> None:
    ingredient = read_ingredient(path)
    if ingredient.role == SHARED or not applicable(subject.collection, subject.initial, ingredient):
        assert ingredient.role in (SHARED, "step", "sharpening")  # which have no place until a descent asks for one
        return
    done = insert(subject.collection, subject.initial, ingredient, random.Random(seed))
    assert done is not None
    heights = subject.answered(done[0])
    assert subject.bar < subject.cost(heights) <= subject.initial_cost * (1 + 1e-12)
    assert subject.answered(done[0]) == heights


@pytest.mark.parametrize(
    ("subject", "step"),
    [pytest.param(subject, step, id=f"{subject.name}-{step}") for subject in SUBJECTS for step in subject.steps],
)
def test_every_step_goes_down_and_every_sharpening_serves_it(subject: Subject, step: str) -> None:
    plain = subject.answered(subject.with_operators(("descend", step)))
    assert subject.cost(plain) < subject.descended
    for sharpening in ("sharpen_even", "sharpen_geometric"):
        both = subject.answered(subject.with_operators(("descend", step, sharpening)))
        assert both != plain
        assert subject.cost(both) < subject.descended


@pytest.mark.parametrize("subject", SUBJECTS, ids=[subject.name for subject in SUBJECTS])
def test_refining_stops_at_the_most_pieces_allowed(subject: Subject) -> None:
    source = subject.with_operators(("refine", "step_adam"))
    pieces = runpy.run_path(str(subject.folder / "initial.py"))["PIECES"]
    assert len(subject.answered(source)) == 2 * pieces
    most = subject.max_n * 3 // 4
    assert len(subject.answered(source.replace(f"PIECES = {pieces}", f"PIECES = {most}"))) == most
