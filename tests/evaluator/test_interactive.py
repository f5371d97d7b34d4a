"""Judges that ask item by item: the same verdict as a loop in one process, and the same care as for any other task."""

import dataclasses
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hostile import confinement
from hypothesis import given
from hypothesis import strategies as st

from evaluator.conversation import MOST_ITEMS
from evaluator.errors import EvaluationCancelled, TaskError
from evaluator.evaluation import Classification, Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.task import Instance, Limits, Task
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.examples import part_of_the_examples

ONLINE = Path(__file__).parent.parent / "data" / "online"


class ShortLimits(Limits):
    """A wall limit of a second, so that the test of it need not wait."""

    @property
    def wall_per_instance_s(self) -> float:
        return 1.0


LIMITS = ShortLimits(cpu_per_instance_s=0.5, cpu_total_s=2, memory_mb=512)
FIRST_FIT = (
    "def choose_bin(size, room, capacity):\n"
    "    return next((index for index, left in enumerate(room) if left >= size), len(room))\n"
)
BEST_FIT = (
    "def choose_bin(size, room, capacity):\n"
    "    fits = [(left, index) for index, left in enumerate(room) if left >= size]\n"
    "    return min(fits)[1] if fits else len(room)\n"
)
RANDOM_FIT = (
    "import random\n"
    "def choose_bin(size, room, capacity):\n"
    "    return random.choice([index for index, left in enumerate(room) if left >= size] + [len(room)])\n"
)
STATE = (
    "seen = []\n"
    "def choose_bin(size, room, capacity):\n"
    "    seen.append(size)\n"
    "    fits = [index for index, left in enumerate(room) if left >= size]\n"
    "    return fits[0] if fits and len(seen) <= 60 else len(room)\n"
)


def first_fit(sizes: list[int], capacity: int) -> list[int]:
    """Where each item goes, worked out without the house."""
    room: list[int] = []
    chosen = []
    for size in sizes:
        index = next((index for index, left in enumerate(room) if left >= size), len(room))
        if index == len(room):
            room.append(capacity)
        room[index] -= size
        chosen.append(index)
    return chosen


@pytest.fixture(scope="module")
def online() -> Task:
    return load_task(str(ONLINE))


@pytest.fixture(scope="module", params=["standard", pytest.param("strong", marks=pytest.mark.slow)])
def level(request: pytest.FixtureRequest) -> str:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    return str(request.param)


@pytest.fixture(scope="module")
def evaluator(online: Task, level: str) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(online, online.suite(), workers=1, confined=confinement(level)) as evaluator:
        yield evaluator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the task, for a test to change."""
    return Path(shutil.copytree(ONLINE, tmp_path / "online", ignore=shutil.ignore_patterns("__pycache__")))


def scored(folder: Path, source: str, limits: Limits = LIMITS) -> Evaluation:
    (evaluation,) = all_scored(folder, [source], limits)
    return evaluation


def all_scored(folder: Path, sources: Sequence[str], limits: Limits = LIMITS) -> list[Evaluation]:
    task = load_task(str(folder))
    suite = dataclasses.replace(task.suite(), limits=limits)
    with SandboxedEvaluator(task, suite, workers=1, control=one_file(FIRST_FIT)) as evaluator:
        return [evaluator.evaluate(one_file(source)) for source in sources]


def answering(answer: str) -> str:
    """A program that answers the same to every item."""
    return f"def choose_bin(size):\n    return {answer}\n"


@pytest.fixture(scope="module")
def unhurried(online: Task) -> Iterator[SandboxedEvaluator]:
    """One with a wall limit that leaves time to be busy."""
    suite = dataclasses.replace(online.suite(), limits=Limits(**dataclasses.asdict(LIMITS)))
    with SandboxedEvaluator(online, suite, workers=1) as evaluator:
        yield evaluator


def judged(folder: Path, text: str) -> Path:
    """The folder with another `converse` (and no adapter: what is asked is what the program is called with)."""
    (folder / "judge.py").write_text(f"from evaluator import Infeasible, InvalidAnswer\n\n\n{text}\n")
    (folder / "adapter.py").unlink(missing_ok=True)
    return folder


# -- what an honest program comes to -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["small", "holdout"])
def test_first_fit_uses_the_bins_that_first_fit_uses(online: Task, level: str, name: str) -> None:
    suite = online.suite(name)
    with SandboxedEvaluator(online, suite, workers=1, confined=confinement(level)) as evaluator:
        evaluation = evaluator.evaluate(one_file(FIRST_FIT))
    wanted = [max(first_fit(i.data["sizes"], i.data["capacity"])) + 1 for i in suite.instances]
    assert evaluation.correct
    assert [result.cost for result in evaluation.results] == wanted
    assert evaluation.value == sum(wanted) / 3


@pytest.mark.parametrize("source", [FIRST_FIT, BEST_FIT, RANDOM_FIT], ids=["first fit", "best fit", "random fit"])
def test_strict_re_evaluation_agrees_with_a_program_that_goes_by_what_it_is_asked(
    evaluator: SandboxedEvaluator, source: str
) -> None:
    """`random` is seeded for each instance, not for each item."""
    evaluation = evaluator.examine(one_file(source), evaluator.evaluate(one_file(source)))
    assert evaluation.correct
    assert evaluation.strict is not None and evaluation.strict.agrees


def test_state_carried_from_one_instance_to_the_next_is_caught(evaluator: SandboxedEvaluator) -> None:
    evaluation = evaluator.evaluate(one_file(STATE))
    assert evaluation.correct
    examined = evaluator.examine(one_file(STATE), evaluation)
    assert examined.strict is not None
    assert examined.strict.classification is Classification.STATE
    assert not examined.correct and examined.quarantine


def test_what_an_adapter_keeps_ends_with_the_instance(folder: Path) -> None:
    adapter = (folder / "adapter.py").read_text()
    (folder / "adapter.py").write_text(
        adapter.replace("room = []", "room = []\n    seen = []").replace(
            "(size, list(room), capacity)", "(size, list(room), capacity, seen)"
        )
    )
    counts = (
        "def choose_bin(size, room, capacity, seen):\n"
        "    seen.append(size)\n"
        "    return len(seen) - 1\n"  # a bin for each item of this instance, counted from the first
    )
    assert [result.cost for result in scored(folder, counts).results] == [40, 60, 80]


@given(data=st.data())
@part_of_the_examples(2)
def test_the_answers_of_a_conversation_can_be_judged_again(data: st.DataObject) -> None:
    task = load_task(str(ONLINE))
    sizes = data.draw(st.lists(st.integers(1, 10), min_size=1, max_size=30))
    instance = Instance(index=0, data={"capacity": 10, "sizes": sizes})
    answers: list[Any] = first_fit(sizes, 10)
    assert task.judge.judge(instance, answers).cost == max(answers) + 1
    cut = data.draw(st.integers(0, len(answers) - 1))
    assert task.judge.judge(instance, answers[:cut]).outcome is Outcome.INVALID_OUTPUT
    assert task.judge.judge(instance, [*answers, 0]).outcome is Outcome.INVALID_OUTPUT
    wrong = data.draw(st.sampled_from([None, True, -1, 10**9, 0.5, "0", [], {}]))
    assert task.judge.judge(instance, [*answers[:cut], wrong, *answers[cut + 1 :]]).outcome is Outcome.INVALID_OUTPUT
    assert task.judge.judge(instance, None).outcome is Outcome.INVALID_OUTPUT


# -- what goes wrong, and where ----------------------------------------------------------------------------------------


def at(item: int, does: str, instance: int = 1) -> str:
    """First fit, which answers one item of one instance by `does` (the length identifies the instance)."""
    return (
        f"count = [-1, 0]\n"
        f"def choose_bin(size, room, capacity):\n"
        f"    count[:] = [count[0] + 1, 0] if not room else [count[0], count[1] + 1]\n"
        f"    if count == [{instance}, {item}]:\n"
        f"        {does}\n"
        f"    return next((i for i, left in enumerate(room) if left >= size), len(room))\n"
    )


@pytest.mark.parametrize(
    ("does", "outcome", "message"),
    [
        ("raise KeyError('nothing')", Outcome.EXCEPTION, "KeyError: 'nothing' (line 5, in choose_bin)"),
        ("return 'a bin'", Outcome.INVALID_OUTPUT, "'str' object cannot be interpreted as an integer"),
        ("return -1", Outcome.INVALID_OUTPUT, "-1 is no bin"),
        ("return 0", Outcome.INFEASIBLE, "bin 0 has no room for an item of size"),
        ("return 10 ** 5000", Outcome.INVALID_OUTPUT, ""),
        ("import os; os._exit(3)", Outcome.EXITED, "exit status 3"),
        ("while True: pass", Outcome.CPU_LIMIT, "0.5 s CPU"),
        ("import os; os.read(3, 1)", Outcome.TIMEOUT, "1 s of wall time"),  # there is nothing to be read ahead
        ("x = []\n        while True: x.append(bytes(1 << 20))", Outcome.OOM, "512 MB"),
    ],
)
def test_a_failure_says_which_item_of_which_instance(
    online: Task, unhurried: SandboxedEvaluator, does: str, outcome: Outcome, message: str
) -> None:
    if outcome is Outcome.TIMEOUT:
        evaluation = scored(ONLINE, at(30, does))
    else:
        evaluation = unhurried.evaluate(one_file(at(30, does)))
    failed = evaluation.results[1]
    assert evaluation.results[0].outcome is Outcome.OK
    assert (failed.outcome, evaluation.outcome) == (outcome, outcome)
    assert failed.detail.startswith("item 30: ") and message in failed.detail
    assert "item 30 of instance 1 of 3 (60 items)" in evaluation.detail
    assert "instance 1 (60 items): item 30: " in evaluation.feedback
    survives = outcome in (Outcome.EXCEPTION, Outcome.INVALID_OUTPUT, Outcome.INFEASIBLE, Outcome.OOM)
    assert evaluation.results[2].outcome is (Outcome.OK if survives else Outcome.NOT_RUN)


ECHO = 'def converse(instance):\n    for size in instance["sizes"]:\n        answer = yield {"size": size}\n'


@pytest.mark.parametrize("asked", ["3", "[3]", "'3'", "None"])
def test_what_is_asked_and_is_no_object_is_the_one_argument(folder: Path, asked: str) -> None:
    judged(
        folder,
        f"def converse(instance):\n    answer = yield {asked}\n"
        f"    if answer != {asked}:\n        raise Infeasible('another')\n    return 1",
    )
    assert scored(folder, "def choose_bin(item):\n    return item\n").correct


def test_the_judge_refuses_answers_of_a_wrong_type(folder: Path) -> None:
    folder = judged(
        folder,
        f"{ECHO}        if type(answer) is not int or answer != size:\n"
        "            raise InvalidAnswer('wrong')\n    return 1",
    )
    wrong = ["None", "'1'", "1.5", "True", "[1]", "{'bin': 1}", "size + 1"]
    right, *refused = all_scored(folder, [answering(answer) for answer in ("size", *wrong)])
    assert right.correct
    for answer, evaluation in zip(wrong, refused, strict=True):
        assert [result.outcome for result in evaluation.results] == [Outcome.INVALID_OUTPUT] * 3, answer
        assert {result.detail for result in evaluation.results} == {"item 0: wrong"}, answer


def test_what_is_no_answer_at_all_never_reaches_the_judge(folder: Path) -> None:
    outcomes = {
        "'x' * 70_000": Outcome.OUTPUT_LIMIT,
        "float('nan')": Outcome.INVALID_OUTPUT,
        "10 ** 40": Outcome.PROTOCOL,
        "{1, 2}": Outcome.INVALID_OUTPUT,
    }
    evaluations = all_scored(judged(folder, ECHO + "    return 1"), [*map(answering, outcomes)])
    assert [evaluation.outcome for evaluation in evaluations] == [*outcomes.values()]


def test_what_the_harness_keeps_of_answers_is_limited(folder: Path) -> None:
    judged(folder, "def converse(instance):\n    for item in range(400):\n        yield {'size': item}\n    return 1")
    roomy = ShortLimits(cpu_per_instance_s=10, cpu_total_s=30, memory_mb=512)
    evaluation = scored(folder, "def choose_bin(size):\n    return 'x' * 60_000\n", roomy)
    assert evaluation.outcome is Outcome.OUTPUT_LIMIT
    assert "16777216 bytes" in evaluation.results[0].detail


def test_many_short_items_together_are_held_to_the_limit_of_the_instance(folder: Path) -> None:
    judged(
        folder, "def converse(instance):\n    for item in range(20_000):\n        yield {'size': item}\n    return 1"
    )
    slow = "def choose_bin(size):\n    return sum(range(100_000)) and 0\n"  # a millisecond or so
    evaluation = scored(folder, slow, Limits(cpu_per_instance_s=0.3, cpu_total_s=5, memory_mb=512))
    first = evaluation.results[0]
    assert first.outcome is Outcome.CPU_LIMIT and "0.3 s CPU" in first.detail
    assert not first.detail.startswith("item 19999:")  # it was stopped on the way


def test_a_limit_for_one_item_holds_for_each(folder: Path) -> None:
    text = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(text.replace("memory_mb: 512}", "memory_mb: 512, cpu_per_item_s: 0.05}"))
    limits = load_task(str(folder)).suite().limits
    assert limits.cpu_per_item_s == 0.05
    quick, evaluation = all_scored(folder, [FIRST_FIT, at(7, "sum(range(20_000_000))")], limits)
    assert quick.correct
    assert evaluation.results[1].outcome is Outcome.CPU_LIMIT
    assert evaluation.results[1].detail == "item 7: over the limit of 0.05 s CPU for one item"
    assert scored(folder, at(7, "sum(range(2_000_000))")).correct  # without it, only all of the instance counts


@pytest.mark.slow
def test_the_time_that_a_judge_takes_is_not_the_programs(folder: Path) -> None:
    text = "import time\ndef converse(instance):\n    for item in range(6):\n        yield {'size': item}\n"
    judged(folder, text + "        time.sleep(0.25)\n    return 1")
    evaluation = scored(folder, "def choose_bin(size):\n    return 0\n")
    assert evaluation.correct  # though 1.5 s went by in each, of which an instance has 1


def test_cancelling_ends_a_conversation_that_is_under_way(folder: Path) -> None:
    judged(folder, "def converse(instance):\n    while True:\n        yield {'size': 1}\n")
    task = load_task(str(folder))
    roomy = Limits(cpu_per_instance_s=1000, cpu_total_s=1000, memory_mb=512)
    with SandboxedEvaluator(task, dataclasses.replace(task.suite(), limits=roomy), workers=1) as evaluator:
        threading.Timer(0.3, evaluator.cancel).start()
        with pytest.raises(EvaluationCancelled):
            evaluator.evaluate(one_file("def choose_bin(size):\n    return 0\n"))


# -- what is the task's fault ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("converse", "why"),
    [
        (
            "    yield {'size': 1}\n    raise KeyError('x')",
            "judge.py line 6, converse(): raised KeyError: 'x' after item 0 of",
        ),
        ("    raise KeyError('x')\n    yield", "judge.py line 5, converse(): raised KeyError: 'x' on instance 0"),
        ("    return 3", "judge.py line 4, converse(): returned an object of type int: it must yield"),
        ("    yield {'size': {1}}", "yielded what JSON cannot hold (TypeError"),
        ("    yield {'size': float('nan')}", "yielded what JSON cannot hold (ValueError"),
        ("    yield {'size': 1}", "returned None (NoneType), not an int"),
        ("    yield {'size': 1}\n    return float('nan')", "returned nan"),
        ("    yield {'size': 1}\n    return True", "returned True (bool)"),
        ("    yield {'size': 1}\n    return 'three'", "returned 'three' (str)"),
        ("    yield {'size': 1}\n    exit()", "raised SystemExit"),
        (
            "    try:\n        yield {'size': 1}\n        raise ValueError\n    finally:\n        yield {'size': 2}",
            "generator ignored GeneratorExit",
        ),
    ],
)
def test_what_a_judge_does_wrong_is_reported_by_file_line_and_function(folder: Path, converse: str, why: str) -> None:
    folder = judged(folder, f"def converse(instance):\n{converse}\n")
    with pytest.raises(TaskError) as caught:
        if "finally" in converse:
            scored(folder, "def choose_bin(size):\n    raise ValueError\n")
        task = load_task(str(folder))
        task.judge.judge(task.suite().instances[0], [0])
    assert why in str(caught.value) and "judge.py" in str(caught.value)


def test_a_judge_that_never_ends_is_the_tasks_fault(folder: Path) -> None:
    judged(folder, "def converse(instance):\n    while True:\n        yield {'size': 1}\n")
    task = load_task(str(folder))
    with pytest.raises(TaskError, match="asked for more than 100000 items: does it never end"):
        task.judge.judge(task.suite().instances[0], [0] * (MOST_ITEMS + 1))


def test_a_judge_that_changes_its_instance_changes_a_copy(folder: Path) -> None:
    judged(
        folder,
        "def converse(instance):\n    while instance['sizes']:\n"
        "        yield {'size': instance['sizes'].pop()}\n    return 1",
    )
    task = load_task(str(folder))
    source = "def choose_bin(size):\n    return 0\n"
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        assert evaluator.evaluate(one_file(source)).results[0].outcome is Outcome.OK
        assert len(evaluator.suite.instances[0].data["sizes"]) == 40


def test_a_task_has_one_kind_of_judge(folder: Path) -> None:
    judge = folder / "judge.py"
    judge.write_text(judge.read_text() + "\n\ndef judge(instance, answer):\n    pass\n")
    with pytest.raises(TaskError, match=r"judge.py: defines judge\(\) and converse\(\): a task has one of them"):
        load_task(str(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("def begin(", "def prepare("), "adapter.py: does not define begin()"),
        (("return prepare", "return None"), "begin() must return a function"),
        (("size = asked['size']", "size = asked['sise']"), "raised KeyError: 'sise'"),
    ],
)
def test_an_adapter_that_is_wrong_is_the_tasks_fault(folder: Path, change: tuple[str, str], message: str) -> None:
    adapter = folder / "adapter.py"
    text = adapter.read_text().replace('asked["size"]', "asked['size']")
    assert change[0] in text
    adapter.write_text(text.replace(*change))
    with pytest.raises(TaskError) as caught:
        scored(folder, BEST_FIT)
    assert message in str(caught.value) and "adapter.py" in str(caught.value)


def test_the_first_draw_does_not_tell_the_items_to_come(online: Task) -> None:
    source = "import random\ndef choose_bin(size, room, capacity):\n    raise ValueError(str(random.random()))\n"
    sizes = [[10, 20, 30], [10, 30, 20, 20], [20, 10, 30]]
    instances = tuple(
        dataclasses.replace(online.suite().instances[0], index=index, data={"capacity": 100, "sizes": each})
        for index, each in enumerate(sizes)
    )
    suite = dataclasses.replace(online.suite(), instances=instances)
    with SandboxedEvaluator(online, suite, workers=1) as evaluator:
        draws = [result.detail.partition("ValueError: ")[2] for result in evaluator.evaluate(one_file(source)).results]
    assert draws[0] == draws[1] != draws[2]
