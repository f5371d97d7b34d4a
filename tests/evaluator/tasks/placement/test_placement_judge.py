"""Judging placements: exact costs, every hole shut, and no answer that breaks the judge."""

import json
import math
import random
import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import InvalidAnswer
from evaluator.evaluation import Outcome, Summary, Verdict
from evaluator.task import Instance
from evaluator.task_files import load_task
from evaluator.tasks.placement.judge import GPU_MEM_SIZE, draw

JUDGE = load_task("placement").judge
judge = JUDGE.judge


def summarise(verdicts: list[Verdict], suite: list[Instance]) -> Summary:
    return JUDGE.summarise(verdicts, suite)


THREE = Instance(index=0, data={"gpu_num": 2, "models": [[40, 6, 5], [30, 3, 7], [41, 1, 9]]})


def instances(bounds: list[Fraction | None]) -> list[Instance]:
    return [Instance(index=i, data=THREE.data, bound=bound) for i, bound in enumerate(bounds)]


def ok(cost: Fraction) -> Verdict:
    return Verdict(outcome=Outcome.OK, cost=cost)


FAILED = Verdict(outcome=Outcome.EXCEPTION, detail="it raised")


def test_the_cost_is_the_largest_pressure_as_an_exact_fraction() -> None:
    verdict = judge(THREE, [[0, [0, 1]], [1, [2]]])
    assert verdict == Verdict(outcome=Outcome.OK, cost=Fraction(6, 5) / 10 + Fraction(3, 7) / 10)


def test_an_absent_gpu_is_empty_and_the_order_of_gpus_is_free() -> None:
    two = Instance(index=0, data={"gpu_num": 3, "models": [[40, 6, 5], [30, 3, 7]]})
    assert judge(two, [[2, [1, 0]]]).cost == judge(two, [[0, []], [2, [0, 1]], [1, []]]).cost is not None


def test_a_full_gpu_is_infeasible_and_not_infinite() -> None:
    full = Instance(index=0, data={"gpu_num": 2, "models": [[50, 1, 5], [30, 1, 5]]})
    verdict = judge(full, [[1, [0, 1]]])
    assert verdict.outcome is Outcome.INFEASIBLE
    assert verdict.cost is None
    assert "GPU 1 holds 80 GB of 80" in verdict.detail


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ([[0, [0]]], "2 of 3 models left out: model_1, model_2"),
        ([], "3 of 3 models left out"),
        ([[0, [0, 1]], [1, [2, 1]]], "model 'model_1' is on GPU 0 and GPU 1"),
        ([[0, [0, 0, 1]], [1, [2]]], "model 'model_0' is on GPU 0 twice"),
        ([[0, [0, 1]], [2, [2]]], "GPU 2 does not exist: the ids go from 0 to 1"),
        ([[0, [0, 1]], [-1, [2]]], "GPU -1 does not exist"),
        ([[0, [0, 1]], [10**400, [2]]], "out of range"),
        ([[0, [0, 1]], [True, [2]]], "a GPU id is True; it must be an int"),
        ([[0, [0, 1]], [1.0, [2]]], "a GPU id is 1.0; it must be an int"),
        ([[0, [0, 1]], ["1", [2]]], "a GPU id is a string; it must be an int"),
        ([[0, [0, 1]], [math.nan, [2]]], "a GPU id is nan"),
        ([[0, [0]], [1, [2]], [0, [1]]], "GPU 0 is listed twice"),
        ([[0, [0, 1]], [1, [True]]], "GPU 1 holds True"),
        ([[0, [0, 1]], [1, [3]]], "GPU 1 holds 3, which is none of the 3 models"),
        ([[0, [0, 1]], [1, [-1]]], "GPU 1 holds -1"),
        ([[0, [0, 1]], [1, [math.inf]]], "GPU 1 holds inf"),
        ([[0, [0, 1]], [1, 2]], "where [gpu_id, [model index, ...]] is expected"),
        ([[0, [0, 1]], [1]], "where [gpu_id, [model index, ...]] is expected"),
        (None, "the answer is None"),
        ({"0": [0]}, "the answer is an object"),
    ],
)
def test_what_is_no_placement_is_refused_with_the_reason(answer: object, detail: str) -> None:
    verdict = judge(THREE, answer)
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert verdict.cost is None
    assert detail in verdict.detail


def test_a_placement_that_is_both_incomplete_and_overfull_is_invalid_first() -> None:
    assert judge(THREE, [[0, [0, 2]]]).outcome is Outcome.INVALID_OUTPUT


def test_a_long_list_of_forgotten_models_is_cut() -> None:
    many = Instance(index=0, data={"gpu_num": 100, "models": [[10, 1, 5]] * 300})
    detail = judge(many, []).detail
    assert detail.endswith("and 292 more")
    assert len(detail) < 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(JSON | st.lists(st.tuples(JSON, st.lists(JSON, max_size=4)).map(list), max_size=4))
def test_any_json_at_all_gets_a_verdict(answer: Any) -> None:
    verdict = judge(THREE, answer)
    assert verdict.outcome in (Outcome.OK, Outcome.INFEASIBLE, Outcome.INVALID_OUTPUT)
    assert (verdict.cost is not None) is (verdict.outcome is Outcome.OK)
    assert bool(verdict.detail) is (verdict.outcome is not Outcome.OK)
    assert len(verdict.detail) < 500


def test_a_deep_answer_gets_a_verdict() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert judge(THREE, deep).outcome is Outcome.INVALID_OUTPUT


@st.composite
def placements(draw: st.DrawFn) -> tuple[Instance, list[int]]:
    gpu_num = draw(st.integers(1, 5))
    model = st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 12)).map(list)
    models = draw(st.lists(model, min_size=1, max_size=8))
    where = draw(st.lists(st.integers(0, gpu_num - 1), min_size=len(models), max_size=len(models)))
    return Instance(index=0, data={"gpu_num": gpu_num, "models": models}), where


def bars(path: ET.Element) -> list[tuple[float, ...]]:
    """Left, bottom, width and height of the bars that a path is made of."""
    found = re.findall(r"M(\S+) (\S+)h(\S+)v-(\S+)h-\S+z", path.attrib["d"])
    return [tuple(map(float, bar)) for bar in found]


def test_a_picture_shows_the_memory_of_every_model_and_marks_the_bottleneck() -> None:
    root = ET.fromstring(JUDGE.draw(THREE, [[0, [0, 1]], [1, [2]]]))
    pressures = {path.attrib["fill"]: bars(path) for path in root.findall("{*}path") if path.attrib["fill"] != "none"}
    (others,), (worst,) = pressures.values()
    assert others[3] / worst[3] == pytest.approx((1 / 9 / 39) / ((6 / 5 + 3 / 7) / 10), rel=1e-2)
    (marked,) = [bars(path)[0] for path in root.findall("{*}path") if path.attrib["fill"] == "none"]
    blocks = [bar for path in root.findall("{*}g/{*}path") for bar in bars(path)]
    assert sorted(height / marked[3] * 80 for *_, height in blocks) == pytest.approx([30, 40, 41], rel=1e-3)
    assert sorted(bar[0] == marked[0] for bar in blocks) == [False, True, True]  # the frame is that of GPU 0
    assert marked[0] == worst[0]
    (label, _) = [text.text for text in root.findall("{*}g/{*}text")]
    assert label == "GPU 0: pressure 0.1629, the largest"


def test_a_picture_of_a_large_cluster_is_small_and_shows_every_model() -> None:
    rng = random.Random(1)
    models = [[rng.randint(5, 20), rng.randint(1, 20), rng.randint(5, 12)] for _ in range(200)]
    answer = [[gpu, list(range(gpu, 200, 64))] for gpu in range(64)]
    text = JUDGE.draw(Instance(index=0, data={"gpu_num": 64, "models": models}), answer)
    assert sum(len(bars(path)) for path in ET.fromstring(text).findall("{*}g/{*}path")) == 200
    assert len(text) < 30_000


def test_what_is_no_placement_is_not_drawn() -> None:
    with pytest.raises(InvalidAnswer):
        draw(THREE.data, [[0, [0, 1]]])


@given(placements())
def test_the_cost_is_what_the_definition_says(case: tuple[Instance, list[int]]) -> None:
    instance, where = case
    gpus = range(instance.data["gpu_num"])
    models = instance.data["models"]
    answer = [[gpu, [index for index, at in enumerate(where) if at == gpu]] for gpu in gpus]
    used = [sum(models[index][0] for index in held) for _, held in answer]
    verdict = judge(instance, json.loads(json.dumps(answer)))
    if max(used) >= GPU_MEM_SIZE:
        assert verdict.outcome is Outcome.INFEASIBLE
    else:
        assert verdict.cost == max(
            sum((Fraction(models[i][1], models[i][2]) for i in held), start=Fraction(0)) / (80 - used[gpu])
            for gpu, held in answer
        )


def test_the_score_of_a_program_that_solves_everything() -> None:
    summary = summarise([ok(Fraction(1, 10)), ok(Fraction(3, 10))], instances([Fraction(1, 10), Fraction(2, 10)]))
    assert summary.score == summary.published_score == pytest.approx(1 + 1 / 0.2)
    assert summary.metrics == pytest.approx(
        {"max_kvpr_inverse": 5.0, "success_rate": 1.0, "optimality": (1 + 2 / 3) / 2}
    )


def test_failing_the_hard_instance_raises_only_the_published_score() -> None:
    honest = summarise([ok(Fraction(1, 10)), ok(Fraction(9, 10))], instances([Fraction(1, 10)] * 2))
    picky = summarise([ok(Fraction(1, 10)), FAILED], instances([Fraction(1, 10)] * 2))
    assert picky.published_score == pytest.approx(10.5)
    assert picky.published_score > honest.published_score
    assert picky.score == 0.5 < 1 < honest.score
    assert picky.metrics == {"max_kvpr_inverse": 0.0, "success_rate": 0.5, "optimality": 0.5}


def test_a_program_that_fails_everything_scores_nothing() -> None:
    summary = summarise([FAILED, FAILED], instances([Fraction(1, 10)] * 2))
    assert summary.score == summary.published_score == 0.0


def test_a_suite_without_bounds_has_no_optimality() -> None:
    summary = summarise([ok(Fraction(1, 10))], instances([None]))
    assert "optimality" not in summary.metrics


verdicts = st.lists(st.fractions(Fraction(1, 1000), 10), min_size=1, max_size=12)


@given(verdicts, st.data())
def test_a_failure_never_helps(costs: list[Fraction], data: st.DataObject) -> None:
    suite = instances([min(costs)] * len(costs))
    every = [ok(cost) for cost in costs]
    lost = data.draw(st.sets(st.sampled_from(range(len(costs))), min_size=1))
    some = [FAILED if index in lost else verdict for index, verdict in enumerate(every)]
    assert summarise(some, suite).score < 1 < summarise(every, suite).score
    assert summarise(some, suite).metrics["optimality"] < summarise(every, suite).metrics["optimality"]
