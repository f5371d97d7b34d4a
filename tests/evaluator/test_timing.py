"""Where the clock is the score: what the statistic concludes, and the task `sorting` scored by real processes.

No test asserts a time. What the real clock tells apart on a busy machine is measured by `tests/benchmarks/speed.py`.
"""

import dataclasses
import json
import random
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import TaskError
from evaluator.evaluation import LEAST_SPREAD, Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.pairs import FEWEST, interval
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evaluator.timing import REPETITIONS, speed_of
from evaluator.version import version_of
from tests.builders import one_file

SORTING = Path(__file__).parent.parent / "data" / "sorting"
BUILT_IN = "def ordered(numbers):\n    return sorted(numbers)\n"
ratios = st.floats(0.001, 1000)


@pytest.fixture(scope="module")
def sorting() -> Task:
    return load_task(str(SORTING))


@pytest.fixture(scope="module")
def evaluator(sorting: Task) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(sorting, shortened(sorting), workers=1) as evaluator:
        yield evaluator


def shortened(task: Task) -> Suite:
    suite = task.suite()
    return dataclasses.replace(suite, instances=suite.instances[:3])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the task, for a test to change."""
    return Path(shutil.copytree(SORTING, tmp_path / "sorting", ignore=shutil.ignore_patterns("__pycache__")))


def keys(folder: Path, **changed: object) -> None:
    path = folder / "task.yaml"
    document = yaml.safe_load(path.read_text()) | changed
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))


# -- the statistic -----------------------------------------------------------------------------------------------------


@given(st.lists(ratios, min_size=FEWEST, max_size=40))
def test_the_interval_is_of_the_sample_and_holds_its_median(sample: list[float]) -> None:
    median, low, high = interval(sample)
    assert median == statistics.median(sample)
    assert low in sample
    assert high in sample
    assert low <= median <= high


@given(st.lists(ratios, min_size=17, max_size=40), st.integers(0, 16))
def test_one_wild_repetition_moves_no_end_of_the_interval_beyond_the_others(sample: list[float], which: int) -> None:
    others = sample[:which] + sample[which + 1 :]
    _, low, high = interval([*others, 1e9])
    assert min(others) <= low <= high <= max(others)


def test_the_median_lies_in_the_interval_in_98_of_100_samples() -> None:
    rng = random.Random(3)
    for count in (FEWEST, *REPETITIONS):
        missed = 0
        for _ in range(2000):
            _, low, high = interval([rng.lognormvariate(0, 0.3) for _ in range(count)])
            missed += not low <= 1 <= high
        assert missed <= 2000 * 0.03


def test_too_few_repetitions_give_no_interval() -> None:
    with pytest.raises(ValueError, match="at least 7"):
        interval([1.0] * (FEWEST - 1))


def test_the_speed_is_the_median_of_geometric_means_and_never_claimed_to_be_exact() -> None:
    speed = speed_of([[4.0, 1.0]] * 9)
    assert speed.times == pytest.approx(2)
    assert speed.instances == (4.0, 1.0)
    assert speed.low == pytest.approx(2 / (1 + LEAST_SPREAD))
    assert speed.high == pytest.approx(2 * (1 + LEAST_SPREAD))
    assert speed.settled


def test_a_wide_spread_is_not_settled() -> None:
    assert not speed_of([[ratio] for ratio in (1, 1.1, 0.9, 1.2, 0.8, 1.0, 1.1, 0.9, 1.0)]).settled


# -- real programs -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fast(evaluator: SandboxedEvaluator) -> Evaluation:
    return evaluator.evaluate(one_file(BUILT_IN))


def test_a_faster_program_has_a_ratio_above_one_with_its_spread(fast: Evaluation) -> None:
    assert fast.correct
    assert fast.spread is not None
    low, high = fast.spread
    assert 1 < low < fast.combined_score < high
    times = fast.combined_score
    assert fast.metrics == {"success_rate": 1.0, "speedup_low": low, "speedup_high": high, "speedup": times}
    assert fast.value == times
    assert fast.published_score is None
    assert fast.ceiling is None
    assert "times as fast as the reference program" in fast.feedback
    assert "Least gained on: instance" in fast.feedback


def test_the_spread_is_on_record(fast: Evaluation) -> None:
    record = fast.to_json()
    assert record["spread"] == list(fast.spread or ())
    assert Evaluation.from_json(record).spread == fast.spread


def test_a_wrong_program_has_no_speed(evaluator: SandboxedEvaluator) -> None:
    found = evaluator.evaluate(one_file("def ordered(numbers):\n    return numbers\n"))
    assert (found.outcome, found.combined_score, found.spread) == (Outcome.INFEASIBLE, 0.0, (0.0, 0.0))
    assert "instances failed" in found.feedback


def test_a_program_that_is_wrong_in_a_later_repetition_is_wrong(evaluator: SandboxedEvaluator) -> None:
    # Every process of a candidate has another id: one in seven is wrong.
    found = evaluator.evaluate(
        one_file("import os\n\ndef ordered(numbers):\n    return sorted(numbers) if os.getpid() % 7 else numbers\n")
    )
    assert found.outcome is Outcome.INFEASIBLE
    assert found.combined_score == 0


# A program that reads the clock, and counts its calls, and always answers rightly.
RESTLESS = """
import time
calls = 0
def ordered(numbers):
    global calls
    calls += 1
    if time.time_ns() % 2 and calls % 2:
        numbers = numbers[::-1]
    return sorted(numbers)
"""


def test_what_is_right_however_it_is_asked_is_never_nondeterministic(folder: Path) -> None:
    judge = folder / "judge.py"  # to which no two right answers cost the same
    judge.write_text(
        judge.read_text().replace("return 1\n", "return time.time_ns()\n").replace("\n\n", "\n\nimport time\n", 1)
    )
    task = load_task(str(folder))
    with SandboxedEvaluator(task, shortened(task), workers=1) as evaluator:
        found = evaluator.examine(one_file(RESTLESS), evaluator.evaluate(one_file(RESTLESS)))
    assert found.correct
    assert found.strict is not None
    assert found.strict.agrees
    assert found.confirmed is None
    assert found.spread is not None
    assert found.combined_score > 0


def test_what_is_wrong_when_asked_otherwise_is_wrong_and_not_nondeterministic(evaluator: SandboxedEvaluator) -> None:
    # Right only while it is asked in the order of the suite: 2,000 numbers first.
    source = (
        "seen = []\n"
        "def ordered(numbers):\n"
        "    seen.append(len(numbers))\n"
        "    return sorted(numbers) if seen[:3] == [2000, 2000, 2500][: len(seen)] else numbers\n"
    )
    found = evaluator.examine(one_file(source), evaluator.evaluate(one_file(source)))
    assert found.outcome is Outcome.INFEASIBLE
    assert not found.correct
    assert found.strict is not None
    assert not found.strict.agrees


# -- cheats ------------------------------------------------------------------------------------------------------------


def test_nothing_is_remembered_from_one_repetition_to_the_next(evaluator: SandboxedEvaluator) -> None:
    # It keeps each answer wherever a program might, and answers wrongly if it ever finds one of another process.
    source = """
import builtins, os, sys
def ordered(numbers):
    key = "answer-" + str(len(numbers)) + "-" + str(sum(numbers))
    kept = [getattr(builtins, key, None), sys.modules.get(key), os.environ.get(key)]
    try:
        kept.append(open("/tmp/" + key).read())
    except OSError:
        kept.append(None)
    mine = getattr(sys, "mine", set())
    if key not in mine and any(found is not None for found in kept):
        return ["remembered"]
    sys.mine = mine | {key}
    setattr(builtins, key, "kept")
    sys.modules[key] = sys
    os.environ[key] = "kept"
    try:
        open("/tmp/" + key, "w").write("kept")
    except OSError:
        pass
    return sorted(numbers)
"""
    assert evaluator.evaluate(one_file(source)).correct


def test_the_reference_is_never_there_while_a_candidate_runs(evaluator: SandboxedEvaluator) -> None:
    # It signals every process that it can, to stop or slow the reference: itself aside nobody is touched.
    source = """
import os, signal
def ordered(numbers):
    for number in [*range(os.getpid() - 40, os.getpid()), *range(os.getpid() + 1, os.getpid() + 40)]:
        try:
            os.kill(number, signal.SIGSTOP)
        except OSError:
            pass
    return sorted(numbers)
"""
    found = evaluator.evaluate(one_file(source))
    assert found.outcome is Outcome.OK  # so the reference answered, in turn with it, each time


def test_work_after_the_answer_counts(evaluator: SandboxedEvaluator, fast: Evaluation) -> None:
    # The function returns at once; what it put off is done when nothing holds its answer any more.
    found = evaluator.evaluate(
        one_file("""
class Late(list):
    def __del__(self):
        for _ in range(10):
            sorted(range(5000), key=lambda number: -number)

def ordered(numbers):
    return Late(sorted(numbers))
""")
    )
    assert found.correct
    assert fast.spread is not None
    assert found.spread is not None
    assert found.spread[1] < fast.spread[0]


# -- the task ----------------------------------------------------------------------------------------------------------


def test_the_reference_is_the_initial_program_unless_another_is_named(folder: Path) -> None:
    assert load_task(str(folder)).reference == folder / "reference.py"
    keys(folder, reference=None)
    assert load_task(str(folder)).reference == folder / "initial.py"
    keys(folder, uses_clock=False)
    task = load_task(str(folder))
    assert not task.uses_clock


def test_the_metric_is_what_the_speed_is_called(folder: Path) -> None:
    keys(folder, objective=None)
    assert load_task(str(folder)).objective.metric == "speedup"
    keys(folder, objective={"metric": "tempo"})
    task = load_task(str(folder))
    with SandboxedEvaluator(task, shortened(task), workers=1) as evaluator:
        found = evaluator.evaluate(one_file(BUILT_IN))
    assert found.value == found.metrics["tempo"] == found.combined_score
    assert (found.metrics["tempo_low"], found.metrics["tempo_high"]) == found.spread


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        ({"metric": "combined_score"}, r"objective\.metric is combined_score, which a judge computes"),
        ({"metric": "seconds", "direction": "minimise"}, r"objective\.direction is minimise, and a speed"),
    ],
)
def test_an_objective_that_is_no_speed_is_an_error(folder: Path, objective: dict[str, str], why: str) -> None:
    keys(folder, objective=objective)
    with pytest.raises(TaskError, match=why):
        load_task(str(folder))


def test_what_the_judge_returns_bounds_and_listed_values_decide_nothing(folder: Path) -> None:
    count = len(json.loads((folder / "lists.json").read_text())["instances"])
    (folder / "bounds.json").write_text(json.dumps({"bounds": [{"upper_bound": 0.5, "proven": True}] * count}))
    suite = {"instances": "lists.json", "bounds": "bounds.json", "best_known": [{"value": 0.001, "source": "nobody"}]}
    keys(folder, suites={"lists": suite})
    judge = folder / "judge.py"
    judge.write_text(
        judge.read_text() + "\n\ndef summarise(verdicts, instances):\n    return {'asked': len(verdicts)}\n"
    )
    task = load_task(str(folder))
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        assert evaluator.ceiling is None
        found = evaluator.evaluate(one_file(BUILT_IN))
    assert found.correct
    assert (found.ceiling, found.metric_bound, found.best_known, found.beyond) == (None, None, None, None)
    assert found.metrics["asked"] == count
    assert found.combined_score > 1


def test_a_reference_that_nothing_is_timed_against_is_an_error(folder: Path) -> None:
    keys(folder, uses_clock=False, reference="reference.py")
    with pytest.raises(TaskError, match="only for tasks with `uses_clock: true`"):
        load_task(str(folder))


def test_another_reference_makes_another_evaluator(folder: Path) -> None:
    task = load_task(str(folder))
    before = version_of(task, task.suite())
    (folder / "reference.py").write_text(BUILT_IN)
    task = load_task(str(folder))
    assert version_of(task, task.suite()) != before


def test_a_reference_that_fails_is_the_tasks_fault(folder: Path) -> None:
    (folder / "reference.py").write_text("def ordered(numbers):\n    return numbers\n")
    task = load_task(str(folder))
    with (
        SandboxedEvaluator(task, task.suite(), workers=1) as evaluator,
        pytest.raises(TaskError, match=r"reference\.py: the reference program for timing fails: instance 0 "),
    ):
        evaluator.evaluate(one_file(BUILT_IN))
