"""What every evaluator promises, for each that there is."""

import dataclasses
import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from evaluator.errors import EvaluationCancelled
from evaluator.evaluation import Evaluation, Outcome
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.remote import RemoteEvaluator
from evaluator.task import Limits, Suite, Task
from evaluator.task_files import load_task
from evolve.seams import Evaluator
from tests.builders import one_file
from tests.loop.climbing import TASK
from tests.seams.in_process import InProcessEvaluator
from tests.seams.near_remote import NearRemote

GUESS = "def guess(n):\n    return n + 1\n"
FAR = "def guess(n):\n    return n + 60\n"
WRONG = {
    "": Outcome.LOAD_ERROR,
    "def guess(n:\n": Outcome.LOAD_ERROR,
    "def other(n):\n    return n\n": Outcome.LOAD_ERROR,
    "def guess(n):\n    raise ValueError('no')\n": Outcome.EXCEPTION,
    "def guess(n):\n    return 'far'\n": Outcome.INVALID_OUTPUT,
    "def guess(n):\n    return n if n < 300 else None\n": Outcome.INVALID_OUTPUT,
}
COUNTS = "calls = 0\n\n\ndef guess(n):\n    global calls\n    calls += 1\n    return n + (60 if calls == 1 else 0)\n"
ENDLESS = "def guess(n):\n    while True:\n        n += 1\n"


SCRIPT = """
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
answers = [program.guess(**instance) for instance in json.load(open(sys.argv[3]))]
json.dump({"answers": answers}, open(sys.argv[2], "w"))
"""
"""An evaluator script that does what the sandbox would: the task's judge decides."""


@pytest.fixture(scope="module", params=["sandboxed", "in process", "script", "remote"])
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def task(which: str, tmp_path_factory: pytest.TempPathFactory) -> Task:
    if which != "script":
        return load_task(str(TASK))
    folder = Path(shutil.copytree(TASK, tmp_path_factory.mktemp("script") / "climb"))
    (folder / "evaluate.py").write_text(SCRIPT)
    stated = yaml.safe_load((folder / "task.yaml").read_text())
    del stated["suites"]["three"]["limits"]["cpu_per_instance_s"]
    (folder / "task.yaml").write_text(yaml.safe_dump(stated))
    return load_task(str(folder))


@pytest.fixture(scope="module")
def evaluator(which: str, task: Task) -> Iterator[Evaluator]:
    with opened(which, task, task.suite()) as made:
        yield made


def opened(which: str, task: Task, suite: Suite) -> "OpenedEvaluator | RemoteEvaluator | Unclosed":
    if which == "in process":
        return Unclosed(task, suite)
    if which == "remote":
        return RemoteEvaluator(open_evaluator(task, suite, workers=1), NearRemote(task, suite))
    return open_evaluator(task, suite, workers=2)


class Unclosed(InProcessEvaluator):
    """An evaluator that needs no closing."""

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def timeless(evaluation: Evaluation) -> dict[str, object]:
    record = evaluation.to_json()
    del record["measured"]
    return record


def test_a_correct_program_has_a_score_and_a_result_per_instance(evaluator: Evaluator) -> None:
    near, far = evaluator.evaluate(one_file(GUESS)), evaluator.evaluate(one_file(FAR))
    assert near.correct and far.correct
    assert near.combined_score > far.combined_score
    for evaluation in (near, far):
        assert [result.instance for result in evaluation.results] == [0, 1, 2]
        assert {result.outcome for result in evaluation.results} == {Outcome.OK}
        assert evaluation.quarantine is None


def test_a_verdict_says_who_made_it(evaluator: Evaluator) -> None:
    evaluation = evaluator.evaluate(one_file(GUESS))
    assert evaluation.suite == evaluator.suite.name == "three"
    assert (evaluation.evaluator_version, evaluation.sandbox) == (evaluator.version, evaluator.sandbox)
    assert evaluation.ceiling == evaluator.ceiling
    assert not (evaluator.ceiling_is_proven and evaluator.ceiling is None)


@pytest.mark.parametrize(("source", "outcome"), WRONG.items())
def test_whatever_a_program_does_wrong_is_a_verdict(
    evaluator: Evaluator, which: str, source: str, outcome: Outcome
) -> None:
    evaluation = evaluator.evaluate(one_file(source))
    if which == "script" and outcome in (Outcome.LOAD_ERROR, Outcome.EXCEPTION):
        outcome = Outcome.EXITED  # a script is one process, and it ended
    assert (evaluation.outcome, evaluation.correct) == (outcome, False)
    assert evaluation.detail
    assert len(evaluation.results) == 3
    assert evaluation.combined_score < evaluator.evaluate(one_file(FAR)).combined_score


@pytest.mark.parametrize("source", [GUESS, FAR, *WRONG])
def test_it_says_the_same_again_and_can_be_recorded(evaluator: Evaluator, source: str) -> None:
    evaluation = evaluator.evaluate(one_file(source))
    assert timeless(evaluator.evaluate(one_file(source))) == timeless(evaluation)
    assert timeless(Evaluation.from_json(json.loads(json.dumps(evaluation.to_json())))) == timeless(evaluation)


def test_threads_get_the_verdicts_of_their_own_programs(evaluator: Evaluator) -> None:
    sources = [f"def guess(n):\n    return n + {far}\n" for far in range(6)]
    alone = [evaluator.evaluate(one_file(source)).combined_score for source in sources]
    with ThreadPoolExecutor(3) as pool:
        together = [evaluation.combined_score for evaluation in pool.map(evaluator.evaluate, map(one_file, sources))]
    assert together == alone == sorted(alone, reverse=True)


def test_an_honest_program_stands_however_it_is_asked(evaluator: Evaluator) -> None:
    evaluation = evaluator.evaluate(one_file(GUESS))
    examined = evaluator.examine(one_file(GUESS), evaluation)
    assert examined.correct
    assert examined.strict is not None and examined.strict.agrees
    assert timeless(dataclasses.replace(examined, strict=evaluation.strict)) == timeless(evaluation)


def test_one_that_keeps_state_between_instances_does_not(evaluator: Evaluator) -> None:
    evaluation = evaluator.evaluate(one_file(COUNTS))
    assert evaluation.correct, "the ordinary way does not tell"
    examined = evaluator.examine(one_file(COUNTS), evaluation)
    assert not examined.correct
    assert examined.strict is not None and not examined.strict.agrees
    assert examined.quarantine


def test_what_is_cancelled_raises_in_the_thread_that_waits(which: str, task: Task) -> None:
    """Limits of minutes: only `cancel` can end it."""
    long = Limits(cpu_per_instance_s=100, cpu_total_s=200, memory_mb=512)
    ended: list[BaseException | Evaluation] = []

    def evaluate() -> None:
        try:
            ended.append(evaluator.evaluate(one_file(ENDLESS)))
        except EvaluationCancelled as cancelled:
            ended.append(cancelled)

    with opened(which, task, dataclasses.replace(task.suite(), limits=long)) as evaluator:
        threads = [threading.Thread(target=evaluate, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        threads[0].join(0.3)
        assert ended == []
        evaluator.cancel()
        for thread in threads:
            thread.join(20)
        assert [type(one) for one in ended] == [EvaluationCancelled] * 2
