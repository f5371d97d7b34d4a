"""The answers that an evaluation is borne out by, and when there are none."""

from pathlib import Path

import pytest

import evaluator.certificate as certificate
from evaluator.certificate import MOST_KEPT, KeptAnswers, judge_again
from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from tests.builders import one_file

INITIAL = "# EVOLVE-BLOCK-START\ndef answer(x):\n    return x\n# EVOLVE-BLOCK-END\n"
COUNTS = "INSTANCES = [[3, 1], [2]]\ndef judge(instance, answer):\n    return len(answer)\n"
SORTS = "INSTANCES = [[3, 1], [2]]\ndef judge(instance, answer):\n    answer.sort()\n    return answer[0]\n"
ASKS = """INSTANCES = [2, 3]
def converse(instance):
    got = []
    for x in range(instance):
        got.append((yield x))
    return sum(got)
"""
CHANGES = (
    "INSTANCES = [2]\ndef converse(instance):\n    got = yield [instance]\n    got.append(1)\n    return len(got)\n"
)


def written(folder: Path, judge: str) -> str:
    (folder / "judge.py").write_text(judge)
    (folder / "initial.py").write_text(INITIAL)
    return str(folder)


def examined(folder: Path, judge: str, source: str = INITIAL) -> Evaluation:
    task = load_task(written(folder, judge))
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
        assert evaluation.answers is None, "the answers of a program that is not examined are kept nowhere"
        return evaluator.examine(one_file(source), evaluation)


@pytest.mark.parametrize(
    ("judge", "answers"),
    [
        (COUNTS, ("[3,1]", "[2]")),
        (SORTS, ("[3,1]", "[2]")),  # as the judge took them, not as it left them
        (ASKS, ("[0,1]", "[0,1,2]")),
    ],
)
def test_an_examined_program_brings_its_answers_as_the_judge_took_them(
    tmp_path: Path, judge: str, answers: object
) -> None:
    assert examined(tmp_path, judge).answers == answers


def test_answers_that_the_judge_has_changed_bear_nothing_out(tmp_path: Path) -> None:
    found = examined(tmp_path, CHANGES)
    assert found.correct
    assert found.answers is None


@pytest.mark.parametrize(
    "source", ["def answer(x):\n    return x[:0] or 1\n", "def answer(x):\n    raise ValueError\n"]
)
def test_a_program_that_is_not_correct_has_none(tmp_path: Path, source: str) -> None:
    judge = COUNTS.replace("    return", "    if answer == 1: raise InvalidAnswer('one')\n    return")
    found = examined(tmp_path, "from evaluator import InvalidAnswer\n" + judge, source)
    assert not found.correct
    assert found.answers is None


def test_answers_that_are_too_long_together_are_not_kept() -> None:
    kept = KeptAnswers()
    half = "x" * (MOST_KEPT // 2)
    for answer in (half, half, half):
        kept.add(answer)
    assert kept.texts is None
    kept.clear()
    kept.add([1])
    assert kept.texts == ("[1]",)


def test_a_program_whose_answers_are_too_long_is_as_correct_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "MOST_KEPT", 6)
    found = examined(tmp_path, COUNTS)
    assert found.correct
    assert found.answers is None


def test_an_instance_without_an_answer_counts_as_failed(tmp_path: Path) -> None:
    task = load_task(written(tmp_path, COUNTS))
    found = judge_again(task, task.suite(), {1: [2]})
    assert [result.outcome for result in found.results] == [Outcome.NOT_RUN, Outcome.OK]
    assert not found.correct


def test_answers_after_an_infeasible_one_do_not_hide_it(tmp_path: Path) -> None:
    judge = "from evaluator import Infeasible\n" + ASKS.replace(
        "    return sum", "        if got[-1] > 5: raise Infeasible('above 5')\n    return sum"
    )
    task = load_task(written(tmp_path, judge))
    found = judge_again(task, task.suite(), {0: [9, 1], 1: [0, 1, 2, 3]})
    assert [(result.outcome, result.detail) for result in found.results] == [
        (Outcome.INFEASIBLE, "above 5"),
        (Outcome.INVALID_OUTPUT, "there are answers after item 2"),
    ]
