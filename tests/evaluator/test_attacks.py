"""Nothing gets out and nothing gets faked: every hostile program, at every level; and the corpus bites."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile import HONEST, LIMITS, Attack, Range, attacks, confinement, shooting_range
from process_table import descendants

from evaluator.evaluation import Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.layers import OF_CANDIDATE
from evaluator.task import Suite, Task
from tests.builders import one_file

ATTACKS = attacks()
STOPPED = [attack for attack in ATTACKS if attack.stopped_by]
named = pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@pytest.fixture(scope="module")
def place() -> Iterator[Range]:
    with shooting_range() as place:
        yield place


@pytest.fixture(scope="module")
def suite(smallest: Task) -> Suite:
    return dataclasses.replace(smallest.suite(), limits=LIMITS)


@pytest.fixture(scope="module", params=["strong", "standard"])
def confined(request: pytest.FixtureRequest, smallest: Task, suite: Suite) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with SandboxedEvaluator(smallest, suite, workers=1, confined=confinement(request.param)) as evaluator:
        assert evaluator.sandbox == request.param
        evaluator.evaluate(one_file(HONEST))
        before = resident_mb()
        yield evaluator
        assert resident_mb() - before < 16


@named
def test_an_attack_gains_nothing_and_leaves_nothing(confined: SandboxedEvaluator, place: Range, attack: Attack) -> None:
    if why := attack.missing():
        pytest.skip(why)
    place.drain()
    family = descendants(os.getpid())
    evaluation = confined.evaluate(one_file(place.fill_in(attack)))
    assert evaluation.outcome in attack.expected, evaluation.detail
    assert "Breach" not in evaluation.detail + "".join(result.detail for result in evaluation.results)
    assert evaluation.quarantine is None
    assert evaluation.combined_score <= (confined.ceiling or 0)
    assert place.untouched()
    after = confined.evaluate(one_file(HONEST))
    assert after.correct
    assert after.combined_score == after.ceiling
    # A worker may have been replaced; otherwise there are no more processes than before.
    assert len(descendants(os.getpid())) <= len(family)


@pytest.fixture(scope="module")
def ablated(smallest: Task, suite: Suite) -> Iterator[dict[tuple[str, ...], SandboxedEvaluator]]:
    evaluators: dict[tuple[str, ...], SandboxedEvaluator] = {}
    for without in sorted({attack.stopped_by for attack in STOPPED}):
        evaluators[without] = SandboxedEvaluator(
            smallest, suite, workers=1, confined=confinement("standard", without=without)
        )
    yield evaluators
    for evaluator in evaluators.values():
        evaluator.close()


@pytest.mark.parametrize("attack", STOPPED, ids=[attack.name for attack in STOPPED])
def test_without_the_layers_that_stop_it_an_attack_gets_through(
    ablated: dict[tuple[str, ...], SandboxedEvaluator], place: Range, attack: Attack
) -> None:
    """The corpus bites: what is said to stop an attack is all that stops it."""
    if why := attack.missing():
        pytest.skip(why)
    place.drain()
    evaluation = ablated[attack.stopped_by].evaluate(one_file(place.fill_in(attack)))
    assert attack.got_through(evaluation), f"{evaluation.outcome}: {evaluation.detail}"


@pytest.mark.parametrize("layer", OF_CANDIDATE)
def test_every_layer_has_attacks_that_it_is_there_for(layer: str) -> None:
    assert any(layer in attack.stopped_by for attack in ATTACKS)


def test_a_forged_answer_is_never_better_than_what_was_answered(confined: SandboxedEvaluator, place: Range) -> None:
    for name in ("change_the_instance", "patch_the_builtins", "return_a_lie", "answer_for_itself"):
        attack = next(attack for attack in ATTACKS if attack.name == name)
        evaluation = confined.evaluate(one_file(place.fill_in(attack)))
        for result, instance in zip(evaluation.results, confined.suite.instances, strict=True):
            if result.outcome is Outcome.OK:
                assert result.cost in instance.data["items"]
