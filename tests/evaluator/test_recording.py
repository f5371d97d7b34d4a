"""A recording that is played back to the judge at home gives the evaluation that a program has at home."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import HONEST, LIMITS, Attack, Range, attacks, confinement, shooting_range
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import TaskError
from evaluator.evaluation import OF_THE_MOMENT, Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.recording import RecordedReply, Recording, RecordingMismatch
from evaluator.remote import Reported, record
from evaluator.suite_evaluator import SuiteEvaluator
from evaluator.task import Task
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.examples import part_of_the_examples
from tests.script_folders import GOOD, make_task, says, says_text

ONLINE = Path(__file__).parent.parent / "data" / "online"
FIRST_FIT = (
    "def choose_bin(size, room, capacity):\n"
    "    return next((index for index, left in enumerate(room) if left >= size), len(room))\n"
)
OF_PLACEMENT = "def place_replicas({}):\n    {}\n"
ODD = [
    "",
    "def other():\n    pass\n",
    "this is no Python\n",
    "x = 'é\\ud800'\ndef smallest(items):\n    return x\n",
    "def smallest(items):\n    return 1.5e300\n",
    "def smallest(items):\n    return -0.0\n",
    "def smallest(items):\n    return {'b': [1, 2.5, None, True], 'a': 'é'}\n",
    "def smallest(items):\n    raise ValueError('é' * 5000)\n",
    "def smallest(items):\n    return [0] * 100000\n",
    "def smallest(items):\n    return float('nan')\n",
    "import os\ndef smallest(items):\n    os._exit(3)\n",
    "def smallest(items):\n    return items.index(max(items))\n",
    HONEST,
]


def travelled(recording: Recording) -> Recording:
    """A recording after it was sent as text."""
    text = Reported(host="h", worker="w", recording=recording).to_json()
    return Reported.from_json(text, host="h", worker="w").recording


def without_times(evaluation: Evaluation) -> Evaluation:
    results = tuple(dataclasses.replace(result, cpu_s=0.0, wall_s=0.0) for result in evaluation.results)
    return dataclasses.replace(evaluation, results=results, runtime_s=0.0, peak_memory_mb=0.0)


def played_back(evaluator: SuiteEvaluator, source: str) -> Evaluation:
    return evaluator.play(one_file(source), travelled(evaluator.record(one_file(source))))


def assert_the_same(evaluator: OpenedEvaluator, source: str) -> None:
    assert without_times(played_back(evaluator, source)) == without_times(evaluator.evaluate(one_file(source)))


@pytest.fixture(scope="module")
def place() -> Iterator[Range]:
    with shooting_range() as place:
        yield place


@pytest.fixture(scope="module")
def attacked(smallest: Task) -> Iterator[SandboxedEvaluator]:
    suite = dataclasses.replace(smallest.suite(), limits=LIMITS)
    with SandboxedEvaluator(smallest, suite, workers=1, confined=confinement("standard")) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def online() -> Iterator[OpenedEvaluator]:
    task = load_task(str(ONLINE))
    with open_evaluator(task, task.suite(), workers=1) as evaluator:
        yield evaluator


@pytest.mark.slow
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_a_hostile_program_has_the_same_outcomes(attacked: SandboxedEvaluator, place: Range, attack: Attack) -> None:
    if why := attack.missing():
        pytest.skip(why)
    source = place.fill_in(attack)
    again = played_back(attacked, source)
    assert again.outcome in attack.expected, again.detail
    assert "Breach" not in again.detail
    local = attacked.evaluate(one_file(source))
    if not {again.outcome, local.outcome} & OF_THE_MOMENT:  # the machine decides those, too
        assert [r.exact_result for r in again.results] == [r.exact_result for r in local.results]


@pytest.mark.parametrize("source", ODD)
def test_an_odd_program_has_the_same_evaluation(evaluator: SandboxedEvaluator, source: str) -> None:
    assert_the_same(evaluator, source)


@part_of_the_examples(2)
@given(answer=st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_any_answer_has_the_same_verdict(evaluator: SandboxedEvaluator, answer: Any) -> None:
    assert_the_same(evaluator, f"from math import inf, nan\ndef smallest(items):\n    return {answer!r}\n")


@pytest.mark.parametrize(
    "source",
    [
        FIRST_FIT,
        FIRST_FIT.replace(">=", ">"),
        "def choose_bin(size, room, capacity):\n    return len(room)\n",
        "def choose_bin(size, room, capacity):\n    return -1\n",
        "def choose_bin(size, room, capacity):\n    return 'x' if len(room) > 3 else len(room)\n",
        "def choose_bin(size, room, capacity):\n    return 1 // 0\n",
        "def choose_bin(size, room, capacity):\n    return [0] * 100000 if len(room) > 3 else len(room)\n",
        "import random\ndef choose_bin(size, room, capacity):\n"
        "    return random.choice([i for i, left in enumerate(room) if left >= size] + [len(room)])\n",
    ],
)
def test_a_conversation_has_the_same_evaluation(online: OpenedEvaluator, source: str) -> None:
    assert_the_same(online, source)


def test_programs_of_placement_have_the_same_evaluation() -> None:
    task = load_task("placement")
    with open_evaluator(task, task.suite(), workers=1) as evaluator:
        assert_the_same(evaluator, task.initial.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        says(correct=False),
        says_text("no JSON"),
        "1 / 0\n",
        says(correct=True, combined_score=2, feedback="/usr/x"),
    ],
)
def test_a_script_has_the_same_evaluation(tmp_path: Path, source: str) -> None:
    task = make_task(tmp_path / "mine")
    with open_evaluator(task, task.suite(), workers=1) as evaluator:
        assert_the_same(evaluator, source)
        assert played_back(evaluator, source).self_judged


def test_no_text_names_the_folders_of_the_other_machine(tmp_path: Path) -> None:
    there, here = make_task(tmp_path / "there"), make_task(tmp_path / "here")
    source = says(correct=True, combined_score=1, feedback=f"see {there.folder}/evaluate.py")
    with (
        open_evaluator(there, there.suite(), workers=1) as worker,
        open_evaluator(here, here.suite(), workers=1) as head,
    ):
        feedback = head.play(one_file(source), travelled(worker.record(one_file(source)))).feedback
    assert "see evaluate.py" in feedback
    assert str(tmp_path) not in feedback


def test_a_judge_of_the_head_decides(changed: Any, evaluator: SandboxedEvaluator, folder: Path) -> None:
    """The worker's own judge, if it has another one, decides nothing."""
    judge = folder / "judge.py"
    judge.write_text(judge.read_text() + "\n\ndef judge(instance, answer):\n    return 0\n")
    task = changed()
    with open_evaluator(task, task.suite(), workers=1) as worker:
        recording = travelled(worker.record(one_file(HONEST)))
    assert without_times(evaluator.play(one_file(HONEST), recording)) == without_times(
        evaluator.evaluate(one_file(HONEST))
    )


def test_an_adapter_that_fails_is_the_tasks_fault(changed: Any, folder: Path) -> None:
    (folder / "adapter.py").write_text("def prepare(instance):\n    raise KeyError('no')\n")
    task = changed()
    with open_evaluator(task, task.suite(), workers=1) as evaluator:
        recording = travelled(evaluator.record(one_file(HONEST)))
        with pytest.raises(TaskError, match=r"adapter.py.*raised KeyError"):
            evaluator.play(one_file(HONEST), recording)


# -- recordings that do not fit ----------------------------------------------------------------------------------------


def changed_process(recording: Recording, **turns: Any) -> Recording:
    assert recording.process is not None
    return dataclasses.replace(recording, process=dataclasses.replace(recording.process, **turns))


def misfits(recording: Recording) -> list[Recording]:
    assert recording.process is not None
    turns = recording.process.turns
    asked = turns[1]
    extra = (*asked.replies, asked.replies[-1])
    other = dataclasses.replace(asked.replies[0], asked="0" * 16)
    no_json = dataclasses.replace(asked.replies[0], answer="[1,")
    return [
        Recording(),
        changed_process(recording, turns=()),
        changed_process(recording, turns=turns[:-1]),
        changed_process(recording, turns=(*turns, turns[-1])),
        changed_process(recording, turns=(turns[0], turns[2], turns[1], *turns[3:])),
        *(
            changed_process(recording, turns=(turns[0], dataclasses.replace(asked, replies=replies), *turns[2:]))
            for replies in ((), extra, asked.replies[:-1], (other, *asked.replies[1:]), (no_json, *asked.replies[1:]))
        ),
    ]


def test_a_recording_that_does_not_fit_the_conversation_is_the_workers_fault(online: OpenedEvaluator) -> None:
    for misfit in misfits(online.record(one_file(FIRST_FIT))):
        with pytest.raises(RecordingMismatch):
            online.play(one_file(FIRST_FIT), travelled(misfit))


def test_a_recording_of_another_program_is_the_workers_fault(evaluator: SandboxedEvaluator) -> None:
    with pytest.raises(RecordingMismatch):
        evaluator.play(one_file(HONEST), evaluator.record(one_file(HONEST + "\n")))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(document=json_values)
def test_any_report_is_read_or_refused(document: Any) -> None:
    for text in (json.dumps(document), json.dumps({"recording": document})):
        try:
            Reported.from_json(text, host="h", worker="w")
        except RecordingMismatch:
            continue


reply_strategy = st.builds(
    RecordedReply, asked=st.text(max_size=20), answer=st.text(max_size=20), failure=st.none() | st.sampled_from(Outcome)
)


@part_of_the_examples(2)
@given(replies=st.lists(reply_strategy, max_size=3), place=st.integers(0, 3), alive=st.booleans())
def test_any_change_is_judged_or_refused(
    evaluator: SandboxedEvaluator, replies: list[RecordedReply], place: int, alive: bool
) -> None:
    recording = evaluator.record(one_file(HONEST))
    assert recording.process is not None
    turns = list(recording.process.turns)
    turns[place % len(turns)] = dataclasses.replace(turns[place % len(turns)], replies=tuple(replies), alive=alive)
    try:
        evaluation = evaluator.play(one_file(HONEST), travelled(changed_process(recording, turns=tuple(turns))))
    except RecordingMismatch:
        return
    assert len(evaluation.results) == len(evaluator.suite.instances)


def test_a_report_with_an_impossible_number_is_refused(evaluator: SandboxedEvaluator) -> None:
    text = record(evaluator, one_file(HONEST), host="h", worker="w").to_json()
    document = json.loads(text)
    for number in (-1.0, 1e300):
        document["recording"]["process"]["peak_memory_mb"] = number
        with pytest.raises(RecordingMismatch, match="impossible"):
            Reported.from_json(json.dumps(document), host="h", worker="w")
