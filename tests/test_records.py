"""Claims about the published answers: their exact values, the values listed from them, and that nothing reads them."""

import importlib.util
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.objective import Direction
from evaluator.places import PROGRAMS
from evaluator.sandbox import bubblewrap
from evaluator.task_files import built_in_tasks, load_task
from evolve.apps.audit.answers import decimal_text, judge_file
from tests.builders import one_file
from tests.evaluator.hostile import confinement

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(PROGRAMS.glob("*/records/*.json"))
VALUES = {
    "autocorrelation/alphaevolve": "1.505293968440",
    "autocorrelation/ttt-discover": "1.502862898256",
    "autocorrelation/together-ai": "1.502862858705",
    "erdos_overlap/alphaevolve": "0.380923035108",
    "erdos_overlap/ttt-discover": "0.380875323218",
    "erdos_overlap/together-ai": "0.380870310586",
    "circle_packing/n26-alphaevolve": "2.635983084917607",
}
"""Of the answers as given, computed elsewhere: in integers, with heights cut down to multiples of max / 2^70."""


def name_of(path: Path) -> str:
    return f"{path.parents[1].name}/{path.stem}"


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("records", ROOT / "docs" / "records.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_exact_values_are_those_computed_elsewhere(tables: ModuleType) -> None:
    found = {}
    for name in built_in_tasks():
        task = load_task(name)
        for suite, listed, path in tables.records(task):
            (answer,) = judge_file(path, task, suite=suite).answers
            assert answer.value is not None
            # The listed value is the exact one, rounded at its own last digit.
            places = len(str(float(listed.value)).partition(".")[2])
            assert decimal_text(answer.value, places) == decimal_text(listed.value, places)
            given = answer.value if answer.given is None else answer.given.value
            found[name_of(path)] = decimal_text(given, len(VALUES[name_of(path)].partition(".")[2]))
    assert found == VALUES
    assert sorted(found) == sorted(map(name_of, FILES))


def test_every_record_has_a_source_a_date_or_year_a_claim_and_a_licence(tables: ModuleType) -> None:
    for name in built_in_tasks():
        for _, listed, path in tables.records(load_task(name)):
            assert re.search(r"20\d\d", listed.where_from)
            assert Fraction(listed.claimed) > 0
            assert (path.parent / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) 2026 EinsteinArena")


@pytest.mark.parametrize(
    ("value", "claimed", "direction", "reached"),
    [
        ("0.38087031", "0.380871", Direction.MINIMISE, True),
        ("0.380948950", "0.380868", Direction.MINIMISE, False),
        ("1.50286289826", "1.50286290", Direction.MINIMISE, True),
        ("2.63598308491760672", "2.635983084917607", Direction.MAXIMISE, True),
        ("2.6359830849", "2.635983085", Direction.MAXIMISE, True),
        ("2.6359830849", "2.6359830850", Direction.MAXIMISE, False),
        ("0.384", ".38", Direction.MINIMISE, True),
        ("0.386", "+.38", Direction.MINIMISE, False),
        ("0.0014", "1e-3", Direction.MINIMISE, True),
        ("0.0016", "1e-3", Direction.MINIMISE, False),
        ("149", "1e2", Direction.MINIMISE, True),
    ],
)
def test_a_claim_is_reached_by_a_value_as_good_or_rounding_to_it(
    tables: ModuleType, value: str, claimed: str, direction: Direction, reached: bool
) -> None:
    assert tables.reaches(Fraction(value), claimed, direction) is reached


def test_an_answer_that_falls_short_is_described_without_blame(tables: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "short.json").write_text("[1, 1]")
    (answer,) = judge_file(tmp_path / "short.json", load_task("erdos_overlap")).answers
    cells = tables._judged(answer, "0.38", Direction.MINIMISE)
    assert cells[0] == "0.500000000000000"
    assert cells[1:] == ["+0.12", "valid", "this artifact does not reach the value stated for it"]


def numbers(text: str) -> set[str]:
    """The decimal numbers with at least eight digits behind the point, cut to eight."""
    return {match[0] for match in re.finditer(r"\d\.\d{8}", text)}


def sources() -> Iterator[Path]:
    """Everything that a prompt is made of, or that the offline proposer and workers load."""
    for folder in ("prompts", "programs", "evaluator", "evolve"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".md", ".py", ".c", ".j2", ".yaml"} and "records" not in path.parts:
                yield path


def test_no_prompt_ingredient_or_program_holds_a_number_of_a_record(tables: ModuleType) -> None:
    published = set().union(*(numbers(path.read_text(encoding="utf-8")) for path in FILES))
    assert len(published) > 30_000
    read = {path: numbers(path.read_text(encoding="utf-8")) & published for path in sources()}
    assert len(read) > 300
    assert {path.relative_to(ROOT): sorted(found) for path, found in read.items() if found} == {}


@pytest.fixture(params=["strong", "standard"])
def evaluator(request: pytest.FixtureRequest) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    task = load_task("erdos_overlap")
    with SandboxedEvaluator(task, task.suite(), workers=1, confined=confinement(request.param)) as evaluator:
        assert evaluator.sandbox == request.param
        yield evaluator


def test_no_candidate_reads_a_record(evaluator: SandboxedEvaluator) -> None:
    body = "def heights(max_n):\n    try:\n        with open({path!r}) as file:\n            text = file.read()\n"
    body += "    except OSError:\n        return [1.0]\n    return {found}\n"
    paths = [*FILES, *(path.with_name("LICENSE") for path in FILES)]
    for path in paths:
        assert path.is_file()
        evaluation = evaluator.evaluate(
            one_file(body.format(path=str(path), found="[0, 3, 4, 5, 6, 5, 4, 3, 0] if text else 0"))
        )
        assert not evaluation.correct or evaluation.metrics["overlap"] == 0.5, path
    answer = json.loads((PROGRAMS / "erdos_overlap/records/alphaevolve.json").read_text())
    held = evaluator.evaluate(one_file(f"def heights(max_n):\n    return {answer}\n"))  # what reading would have given
    assert held.correct
    assert held.metrics["overlap"] < 0.381
