"""Strict re-evaluation: who answers the same however it is asked, and what the others depend on. Real processes."""

import dataclasses
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluator.evaluation import Classification, Evaluation, Outcome, StrictReport
from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import PROGRAMS
from evaluator.task import Task
from evaluator.task_files import load_task
from tests.builders import one_file

PLACEMENT = PROGRAMS / "placement"
INITIAL = (PLACEMENT / "initial.py").read_text()

# Balances sizes, in an order that each program below makes for itself.
PLACE = """
def place(gpu_num, ordered):
    free = [80] * gpu_num
    placement = {gpu: [] for gpu in range(gpu_num)}
    for model in ordered:
        gpu = max(range(gpu_num), key=free.__getitem__)
        free[gpu] -= model.model_size
        placement[gpu].append(model)
    return placement
"""
BY_SIZE = "sorted(models, key=lambda m: (-m.model_size, m.cur_gpu_id))"

COUNTS_CALLS = f"""{PLACE}
calls = 0
def compute_model_placement(gpu_num, models):
    global calls
    calls += 1
    ordered = {BY_SIZE}
    if calls % 3 == 0:
        ordered[0], ordered[-1] = ordered[-1], ordered[0]
    return place(gpu_num, ordered)
"""
GENERATOR_OUTSIDE = f"""{PLACE}
import random
RNG = random.Random(1)
def compute_model_placement(gpu_num, models):
    return place(gpu_num, RNG.sample({BY_SIZE}, len(models)))
"""
BY_NAME = f"""{PLACE}
def compute_model_placement(gpu_num, models):
    ordered = sorted(models, key=lambda m: m.model_name)
    return place(gpu_num, sorted(ordered, key=lambda m: -m.model_size // 4))
"""
KNOWS_NAMES = f"""{PLACE}
def compute_model_placement(gpu_num, models):
    return place(gpu_num, sorted(models, key=lambda m: (-m.model_size, int(m.model_name.removeprefix("model_")))))
"""
CLOCK = f"""{PLACE}
from time import perf_counter
def compute_model_placement(gpu_num, models):
    return place(gpu_num, sorted({BY_SIZE}, key=lambda m: (perf_counter() * 1e7 // 1) % 7))
"""
SEEDED_BY_THE_SECOND = f"""{PLACE}
import random, time
def compute_model_placement(gpu_num, models):
    return place(gpu_num, random.Random(int(time.time())).sample(models, len(models)))
"""
UNSEEDED = f"""{PLACE}
import random
def compute_model_placement(gpu_num, models):
    return place(gpu_num, random.Random().sample(models, len(models)))
"""
HASH_ORDER = f"""{PLACE}
def compute_model_placement(gpu_num, models):
    by_name = {{m.model_name: m for m in models}}
    return place(gpu_num, [by_name[name] for name in set(by_name)])
"""
ADDRESSES = f"""{PLACE}
class Item:
    def __init__(self, model):
        self.model = model
def compute_model_placement(gpu_num, models):
    return place(gpu_num, [item.model for item in set(map(Item, models))])
"""

SEEDED_SEARCH = f"""{PLACE}
import random
import numpy
def cost(placement):
    return max(sum(m.req_rate / m.slo for m in on) / (80 - sum(m.model_size for m in on)) for on in placement.values())
def compute_model_placement(gpu_num, models):
    best = place(gpu_num, {BY_SIZE})
    for _ in range(8):
        ordered = random.sample(models, len(models))
        numpy.random.shuffle(ordered)
        random.Random(5).shuffle(ordered)
        found = place(gpu_num, sorted(ordered, key=lambda m: -m.model_size // 5))
        if cost(found) < cost(best):
            best = found
    return best
"""
HARMLESS_CACHE = f"""{PLACE}
import functools
seen = {{}}
@functools.lru_cache(maxsize=None)
def weight(rate, slo):
    return rate / slo
def compute_model_placement(gpu_num, models):
    seen[len(seen)] = id(models)
    names = {{m.model_name for m in models}}
    assert len(names) == len(models)
    return place(gpu_num, sorted({BY_SIZE}, key=lambda m: -weight(m.req_rate, m.slo)))
"""


@pytest.fixture(scope="module")
def placement() -> Iterator[SandboxedEvaluator]:
    task = load_task("placement")
    suite = task.suite("adrs")
    with SandboxedEvaluator(task, dataclasses.replace(suite, instances=suite.instances[:12]), workers=2) as evaluator:
        yield evaluator


def examined(evaluator: SandboxedEvaluator, source: str) -> tuple[Evaluation, StrictReport]:
    ordinary = evaluator.evaluate(one_file(source))
    assert ordinary.strict is None
    found = evaluator.examine(one_file(source), ordinary)
    assert found.strict is not None
    return found, found.strict


@pytest.mark.parametrize("source", [COUNTS_CALLS, GENERATOR_OUTSIDE], ids=["counts calls", "generator outside"])
def test_state_across_instances_is_quarantined(placement: SandboxedEvaluator, source: str) -> None:
    evaluation, report = examined(placement, source)
    assert report.classification is Classification.STATE
    assert (evaluation.outcome, evaluation.correct) == (Outcome.NONDETERMINISTIC, False)
    assert evaluation.quarantine is not None
    assert "it keeps state from one instance to the next" in evaluation.quarantine


@pytest.mark.parametrize(
    ("source", "classification"),
    [
        pytest.param(KNOWS_NAMES, Classification.NAMES, id="knows names"),
        pytest.param(BY_NAME, Classification.NAMES, id="sorts by name"),
        pytest.param(CLOCK, Classification.NONDETERMINISTIC, id="clock"),
        pytest.param(SEEDED_BY_THE_SECOND, Classification.NONDETERMINISTIC, id="seeded by the second"),
        pytest.param(UNSEEDED, Classification.NONDETERMINISTIC, id="unseeded"),
        pytest.param(ADDRESSES, Classification.NONDETERMINISTIC, id="addresses"),
        pytest.param(HASH_ORDER, Classification.HASH_ORDER, id="hash order"),
    ],
)
def test_what_an_answer_must_not_depend_on_is_named(
    placement: SandboxedEvaluator, source: str, classification: Classification
) -> None:
    evaluation, report = examined(placement, source)
    assert report.classification is classification, report.detail
    assert (evaluation.outcome, evaluation.correct, evaluation.quarantine) == (Outcome.NONDETERMINISTIC, False, None)
    assert evaluation.detail == report.detail
    assert report.detail in evaluation.feedback
    first = report.differences[0]
    assert first.ordinary != first.found
    assert first.ordinary == evaluation.results[first.instance].exact_result


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(INITIAL, id="initial"),
        pytest.param((PLACEMENT / "baselines" / "binary_search.py").read_text(), id="binary search"),
        pytest.param(SEEDED_SEARCH, id="seeded search"),
        pytest.param(HARMLESS_CACHE, id="harmless cache"),
    ],
)
def test_honest_programs_are_not_punished(placement: SandboxedEvaluator, source: str) -> None:
    ordinary = placement.evaluate(one_file(source))
    evaluation = placement.examine(one_file(source), ordinary)
    report = evaluation.strict
    assert ordinary.correct
    assert report is not None
    assert (report.agrees, report.classification, report.detail, report.differences) == (True, None, "", ())
    assert evaluation == dataclasses.replace(ordinary, strict=report)


def test_the_order_of_the_models_changes_the_initial_program_and_is_only_reported(
    placement: SandboxedEvaluator,
) -> None:
    evaluation, report = examined(placement, INITIAL)
    assert evaluation.correct
    assert report.agrees
    assert report.confirmed is not None
    low, median, high, n = report.confirmed.low, report.confirmed.median, report.confirmed.high, report.confirmed.n
    assert low is not None
    assert median is not None
    assert high is not None
    assert low < median < high < low + 2
    assert n == 5


def test_a_report_is_repeatable_and_survives_the_record(placement: SandboxedEvaluator) -> None:
    for source in (INITIAL, HASH_ORDER):
        evaluation, report = examined(placement, source)
        assert examined(placement, source)[1] == report
        assert StrictReport.from_json(json.loads(json.dumps(report.to_json()))) == report
        assert Evaluation.from_json(json.loads(json.dumps(evaluation.to_json()))).strict == report


def test_several_threads_examine_at_once(placement: SandboxedEvaluator) -> None:
    sources = [INITIAL, COUNTS_CALLS, HASH_ORDER, SEEDED_SEARCH]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda source: examined(placement, source)[1].classification, sources))
    assert found == [None, Classification.STATE, Classification.HASH_ORDER, None]


# -- a task without hooks, with limits that are soon met ---------------------------------------------------------------


def test_a_task_without_hooks_says_what_was_not_checked(evaluator: SandboxedEvaluator) -> None:
    evaluation, report = examined(evaluator, "def smallest(items):\n    return items.index(min(items))\n")
    assert evaluation.correct
    assert (report.agrees, report.skipped, report.confirmed) == (True, ("names", "order"), None)


def test_a_limit_met_in_one_evaluation_only_is_no_nondeterminism(evaluator: SandboxedEvaluator) -> None:
    burns = (
        "calls = []\ndef smallest(items):\n"
        "    while items[0] == 5 and len(calls) != 1: pass\n    calls.append(1)\n    return items.index(min(items))\n"
    )
    evaluation, report = examined(evaluator, burns)  # a process that is asked instance 1 first, or late, never ends
    assert report.classification is Classification.INCONCLUSIVE
    assert (evaluation.outcome, evaluation.correct, evaluation.quarantine) == (Outcome.CPU_LIMIT, False, None)
    assert [d.instance for d in report.differences] == [1]
    assert "too near to a limit" in evaluation.detail


def test_a_program_that_does_not_load_has_nothing_to_examine(evaluator: SandboxedEvaluator) -> None:
    evaluation = evaluator.evaluate(one_file("def smallest(:\n"))
    assert evaluator.examine(one_file("def smallest(:\n"), evaluation) == evaluation


def test_a_failing_program_keeps_its_outcome(evaluator: SandboxedEvaluator) -> None:
    fails = "def smallest(items):\n    return 99 if items[0] == 5 else 0\n"
    evaluation, report = examined(evaluator, fails)
    assert report.agrees
    assert evaluation.outcome is Outcome.INVALID_OUTPUT


def test_a_program_ends_with_any_line(smallest: Task, evaluator: SandboxedEvaluator) -> None:
    """What is appended to tell addresses from state must not break a program."""
    tail = "last = 1 + \\\n 2 # no line end \\"
    counts = f"calls = []\ndef smallest(items):\n    calls.append(1)\n    return len(calls) % len(items)\n{tail}"
    _, report = examined(evaluator, counts)
    assert report.classification is Classification.STATE
