"""Programs that behave while they are examined: each is caught, for what it is, or cannot tell."""

import dataclasses
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.running import Runner
from evaluator.strict import MOST_GROUPS, dealt_out
from evaluator.task_files import load_task
from tests.builders import one_file

ATTACKS = sorted((Path(__file__).resolve().parent.parent / "attacks" / "examined").glob("*.py"))
SEEDS = (0, 1, 2)
PLACEMENT = dataclasses.replace(load_task("placement"), packages=())  # no program here needs numpy


@pytest.fixture(scope="module")
def evaluators() -> Iterator[list[SandboxedEvaluator]]:
    suite = PLACEMENT.suite("adrs")
    suite = dataclasses.replace(suite, instances=suite.instances[:12])
    found = [SandboxedEvaluator(PLACEMENT, suite, workers=1, seed=seed) for seed in SEEDS]
    yield found
    for evaluator in found:
        evaluator.close()


def usual_hash(evaluator: SandboxedEvaluator) -> str:
    """What an ordinary process says that hash("model") is."""
    evaluation = evaluator.evaluate(
        one_file('def compute_model_placement(gpu_num, models):\n    raise KeyError(hash("model"))\n')
    )
    found = re.search(r"KeyError: (-?\d+)", evaluation.detail)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("attack", ATTACKS, ids=[path.stem for path in ATTACKS])
def test_a_program_that_looks_out_for_the_examination_is_caught(
    evaluators: list[SandboxedEvaluator], attack: Path
) -> None:
    """Whatever the seed of the run is."""
    source = attack.read_text(encoding="utf-8")
    expected = re.search(r"^Found as: (\w+)$", source, re.MULTILINE)
    assert expected is not None
    for evaluator in evaluators:
        program = source.replace("USUAL", usual_hash(evaluator)) if "USUAL" in source else source
        ordinary = evaluator.evaluate(one_file(program))
        assert ordinary.outcome is Outcome.OK
        report = evaluator.examine(one_file(program), ordinary).strict
        assert report is not None
        assert (report.agrees, report.classification) == (False, expected[1]), report.detail


def test_no_name_is_foreign_and_every_program_and_run_has_its_own() -> None:
    data, renamed = PLACEMENT.suite("adrs").instances[0].data, PLACEMENT.judge.renamed
    assert renamed is not None
    usual = [f"model_{index}" for index in range(len(data["models"]))]
    dealt = [renamed(data, random.Random(seed))["names"] for seed in range(20)]
    assert all(sorted(names) == sorted(usual) for names in dealt)
    assert len({tuple(names) for names in dealt}) == 20


@given(st.integers(1, 300), st.integers())
def test_every_instance_is_in_one_of_a_few_groups(count: int, seed: int) -> None:
    groups = dealt_out(count, random.Random(seed))
    assert sorted(place for group in groups for place in group) == list(range(count))
    assert all(groups)
    assert len(groups) <= MOST_GROUPS
    assert count == 1 or len(groups) > 1


def test_groups_are_of_every_size_and_one_alone_is_nothing_special() -> None:
    sizes = {len(group) for seed in range(200) for group in dealt_out(50, random.Random(seed))}
    assert sizes >= set(range(1, 13))


def test_a_program_that_spins_once_it_is_examined_holds_nobody_up(
    evaluators: list[SandboxedEvaluator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit is waited for a few times, and not once for each instance and change."""
    usual, suite = usual_hash(evaluators[0]), PLACEMENT.suite("adrs")
    limits = dataclasses.replace(suite.limits, cpu_per_instance_s=0.1)
    spins = f'\nHELD = hash("model") != {usual}\ninner = compute_model_placement\n\n\n'
    spins += "def compute_model_placement(gpu_num, models):\n    while HELD:\n        pass\n"
    spins += "    return inner(gpu_num, models)\n"
    program, met = PLACEMENT.initial.read_text(encoding="utf-8") + spins, []
    ask = Runner.run

    def run(*arguments: Any, **kept: Any) -> Any:
        execution = ask(*arguments, **kept)
        met.append(any(result.outcome is Outcome.CPU_LIMIT for result in execution.results))
        return execution

    monkeypatch.setattr(Runner, "run", run)
    with SandboxedEvaluator(PLACEMENT, dataclasses.replace(suite, limits=limits), workers=1) as evaluator:
        found = evaluator.examine(one_file(program), evaluator.evaluate(one_file(program)))
    assert found.strict is not None
    assert not found.correct
    assert sum(met) <= 3
    assert len(met) <= 3 * MOST_GROUPS
