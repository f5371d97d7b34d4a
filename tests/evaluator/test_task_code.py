"""A task's own code: what it may import, and what becomes of its mistakes: the task's fault, by file and line."""

import dataclasses
import shutil
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.peer import solve_suite
from evaluator.task_files import load_task

HONEST = "def smallest(items):\n    return items.index(min(items))\n"
HEAD = "from evaluator.evaluation import Outcome, Summary, Verdict\n"
SUMMARISE = (
    "def summarise(verdicts, instances):\n"
    "    rate = sum(verdict.cost is not None for verdict in verdicts) / len(verdicts)\n"
    "    return Summary(score=rate, published_score=rate, metrics={})\n"
)


def scored(folder: Path, source: str = HONEST, *, strict: bool = False) -> Evaluation:
    """What the task in `folder` says of a program."""
    task = dataclasses.replace(load_task(str(folder)), numpy=False)
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(source)
        return evaluator.examine(source, evaluation) if strict else evaluation


def blamed(folder: Path, source: str = HONEST, *, strict: bool = False) -> str:
    with pytest.raises(TaskError) as raised:
        scored(folder, source, strict=strict)
    return str(raised.value)


@pytest.fixture
def judged(folder: Path) -> Callable[..., Path]:
    """The task with another judge: the body of `judge`, and more functions."""

    def write(body: str, more: str = "") -> Path:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        summarise = "" if "def summarise" in more else SUMMARISE
        (folder / "judge.py").write_text(f"{HEAD}def judge(instance, answer):\n{lines}\n{summarise}{more}")
        return folder

    return write


# -- judge -------------------------------------------------------------------------------------------------------------

GOOD = "return Verdict(outcome=Outcome.OK, cost={})"


def test_a_judge_that_raises_is_the_tasks_fault_told_by_file_line_function_and_instance(
    judged: Callable[..., Path],
) -> None:
    folder = judged("worth = 1 / (3 - instance.index)\n" + GOOD.format(1))
    assert blamed(folder) == (
        f"{folder}/judge.py line 3, judge(): raised ZeroDivisionError: division by zero on instance 3"
    )


WRONG = [
    ("return None", "returned None (NoneType), not a Verdict, on instance 0"),
    ("return 3.5", "returned 3.5 (float), not a Verdict"),
    (GOOD.format("None"), "gave the cost None (NoneType), not an int, a Fraction or a float"),
    (GOOD.format("'3'"), "gave the cost '3' (str), not an int, a Fraction or a float"),
    (GOOD.format("True"), "gave the cost True (bool), not an int, a Fraction or a float"),
    (GOOD.format("float('nan')"), "gave the cost nan"),
    (GOOD.format("float('-inf')"), "gave the cost -inf"),
    (GOOD.format("10 ** 400"), "beyond the range of a float"),
    ("from fractions import Fraction\n" + GOOD.format("Fraction(1, 10 ** 5000)"), "beyond the range of a float"),
    ("return Verdict(outcome=Outcome.CRASH)", "gave the outcome <Outcome.CRASH: 'crash'> (Outcome), not one of ok"),
    ("return Verdict(outcome='ok', cost=1)", "gave the outcome 'ok' (str), not one of ok, infeasible, invalid_output"),
    ("return Verdict(outcome=Outcome.OK, cost=1, detail=b'x')", "gave the detail b'x' (bytes), not a text"),
    ("return Verdict(outcome=Outcome.INFEASIBLE, cost=1)", "gave the cost 1 (int) of an answer that fails"),
    ("raise SystemExit(0)", "line 3, judge(): raised SystemExit: 0 on instance 0"),
    ("return judge(instance, answer)", "judge(): raised RecursionError: maximum recursion depth exceeded"),
    ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "judge(): raised E on instance 0"),
    ("raise ValueError('\\x1b[2J' * 500)", "raised ValueError: \\x1b[2J"),
]


@pytest.mark.parametrize(("body", "said"), WRONG, ids=[body[-40:] for body, _ in WRONG])
def test_whatever_a_judge_does_wrong_is_told_of_the_judge(judged: Callable[..., Path], body: str, said: str) -> None:
    message = blamed(judged(body))
    assert said in message
    assert "judge.py line " in message
    assert message.isprintable() and len(message) < 1000


def test_a_cost_may_be_an_int_or_the_exact_rational_that_a_float_is(judged: Callable[..., Path]) -> None:
    evaluation = scored(judged(GOOD.format("instance.index if instance.index % 2 else 0.1")))
    assert [result.cost for result in evaluation.results] == [Fraction(0.1), 1, Fraction(0.1), 3, Fraction(0.1)]
    assert Evaluation.from_json(evaluation.to_json()).results[0].cost == Fraction(0.1)


def test_a_judge_that_stumbles_over_an_answer_is_the_tasks_fault_too(judged: Callable[..., Path]) -> None:
    """It has to take any answer at all; a program that is the first to give one is not to blame."""
    folder = judged(GOOD.format("min(instance.data['items'][answer], 10)"))
    assert scored(folder).correct
    assert "judge(): raised TypeError: list indices must be integers" in blamed(
        folder, "def smallest(items):\n    return 'x'\n"
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("raise KeyError('cost')", "line 5, summarise(): raised KeyError: 'cost'"),
        ("return 0.5", "summarise(): returned 0.5 (float), not a Summary"),
        ("return Summary(score=float('nan'), published_score=0, metrics={})", "gave score as nan; it must be finite"),
        ("return Summary(score=1, published_score=10 ** 400, metrics={})", "gave published_score as inf"),
        ("return Summary(score=None, published_score=0, metrics={})", "gave score as None (NoneType), not a number"),
        ("return Summary(score=1, published_score=1, metrics={'a': 'b'})", "gave metrics['a'] as 'b' (str), not a"),
        ("return Summary(score=1, published_score=1, metrics=[1])", "gave the metrics [1] (list), not numbers by name"),
    ],
)
def test_whatever_summarise_does_wrong_is_told_of_it(judged: Callable[..., Path], more: str, said: str) -> None:
    folder = judged(GOOD.format(7), f"def summarise(verdicts, instances):\n    {more}\n")
    (folder / "bounds.json").write_text('{"bounds": [{}, {}, {}, {}, {}]}')
    assert said in blamed(folder)


def test_the_other_functions_of_a_judge_are_told_of_likewise(judged: Callable[..., Path]) -> None:
    fails = "return Verdict(outcome=Outcome.INFEASIBLE, detail='no')"
    assert "line 8, describe(): raised ZeroDivisionError: division by zero on instance 0" in blamed(
        judged(fails, "def describe(instance):\n    return 1 / 0\n")
    )
    assert "describe(): returned 3 (int), not a text, on instance 0" in blamed(
        judged(fails, "def describe(instance):\n    return 3\n")
    )
    assert "renamed(): raised KeyError: 'names'" in blamed(
        judged(GOOD.format(7), "def renamed(data):\n    return data['names']\n"), strict=True
    )
    assert "renamed(): returned what is no JSON (TypeError: " in blamed(
        judged(GOOD.format(7), "def renamed(data):\n    return {'items': {1, 2}}\n"), strict=True
    )
    assert "renamed(): returned [1] (list), not an instance's data" in blamed(
        judged(GOOD.format(7), "def renamed(data):\n    return [1]\n"), strict=True
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def judge(:\n", "judge.py line 1: is not Python (invalid syntax)"),
        ("import json\nx = [\n", "judge.py line 2: is not Python ('[' was never closed)"),
        ("import json\n\nnothing\n", "judge.py line 3, while it was loaded: raised NameError: name 'nothing' is not"),
        ("import nonesuch\n", "judge.py line 1, while it was loaded: raised ModuleNotFoundError: No module named"),
        ("raise SystemExit\n", "judge.py line 1, while it was loaded: raised SystemExit"),
        ("judge = 3\n", "judge.py: does not define judge()"),
        (HEAD + "def judge(instance, answer): return None\n", "judge.py: does not define summarise()"),
        ("x = 1\0\n", "judge.py"),
    ],
)
def test_a_judge_that_does_not_load_is_told_of_at_once(folder: Path, text: str, said: str) -> None:
    (folder / "judge.py").write_text(text)
    with pytest.raises(TaskError) as raised:
        load_task(str(folder))
    assert said in str(raised.value)


# -- helpers beside the judge ------------------------------------------------------------------------------------------


def test_a_judge_imports_what_lies_beside_it(judged: Callable[..., Path]) -> None:
    folder = judged(
        "from deeper import bottom\n" + GOOD.format("helper.worth(instance.data['items'][answer]) + bottom()"),
        "import helper\nfrom helper import worth as also\n",
    )
    (folder / "helper.py").write_text("import deeper\ndef worth(item):\n    return item + deeper.bottom()\n")
    (folder / "deeper.py").write_text("def bottom():\n    return 100\n")
    assert scored(folder).results[0].cost == 201
    (folder / "deeper.py").write_text("def bottom():\n    return 1 / 0\n")
    assert f"{folder}/deeper.py line 2, bottom() for judge(): raised ZeroDivisionError" in blamed(folder)


def test_helpers_of_one_name_stay_apart_and_leave_nothing_behind(tmp_path: Path, judged: Callable[..., Path]) -> None:
    first = judged(GOOD.format("helper.WORTH"), "import helper\n")
    (first / "helper.py").write_text("WORTH = 10\n")
    second = Path(shutil.copytree(first, tmp_path / "second"))
    (second / "helper.py").write_text("WORTH = 20\n")
    path = list(sys.path)
    one, other = load_task(str(first)), load_task(str(second))
    for task, cost in ((one, 10), (other, 20), (one, 10)):
        assert task.judge.judge(task.suite().instances[0], 0).cost == cost
    assert "helper" not in sys.modules
    assert sys.path == path


def test_a_helper_replaces_nothing_of_the_library_or_the_house(judged: Callable[..., Path]) -> None:
    folder = judged(GOOD.format("7"), "import random\nimport evaluator\nfrom random import Random\n")
    for name in ("random", "evaluator", "fractions"):
        (folder / f"{name}.py").write_text("raise RuntimeError('imported')\n")
    assert scored(folder).correct


# -- adapter -----------------------------------------------------------------------------------------------------------

ADAPTER = "def prepare(instance):\n{}    return (instance['items'],), lambda answer: answer\n"


def test_an_adapter_that_does_not_load_is_told_of_by_its_line(folder: Path) -> None:
    for text, said in (
        ("x = (\n", "adapter.py line 1: is not Python"),
        ("import json\nimport nonesuch\n", "adapter.py line 2, while it was loaded: raised ModuleNotFoundError: "),
        ("x = 1\n", "adapter.py: does not define prepare()"),
        ("raise SystemExit(4)\n", "adapter.py line 1, while it was loaded: raised SystemExit: 4"),
    ):
        (folder / "adapter.py").write_text(text)
        assert f"{folder}/{said}" in blamed(folder)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    instance['itmes']\n", "adapter.py line 2, prepare(): raised KeyError: 'itmes' on instance 0"),
        (
            "    return 3\n",
            "adapter.py, prepare(): raised TypeError: cannot unpack non-iterable int object on instance 0",
        ),
        ("    return (), 3\n", "adapter.py, prepare(): raised TypeError: prepare() must return the arguments and a"),
        (
            "    if len(instance['items']) == 2: 1 / 0\n",
            "line 2, prepare(): raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_an_adapter_that_fails_for_the_initial_program_too_is_the_tasks_fault(
    folder: Path, line: str, said: str
) -> None:
    (folder / "adapter.py").write_text(ADAPTER.format(line))
    assert said in blamed(folder, "# another program\n" + HONEST)


def test_a_program_that_breaks_its_adapter_has_failed_by_itself(folder: Path) -> None:
    """It shares the process with the adapter, so that what is said from there is believed of nobody else."""
    (folder / "adapter.py").write_text(ADAPTER.format(""))
    forges = (
        "import sys\n"
        "def broken(instance):\n    raise KeyError('the adapter is to blame')\n"
        "frame = sys._getframe()\n"
        "while 'setup' not in frame.f_locals:\n    frame = frame.f_back\n"
        "object.__setattr__(frame.f_locals['setup'], 'adapt', broken)\n" + HONEST
    )
    evaluation = scored(folder, forges)
    assert evaluation.outcome is Outcome.EXCEPTION
    assert "while its arguments were prepared: KeyError: 'the adapter is to blame'" in evaluation.detail


# -- exact.py ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 1 / 0", "exact.py line 3, verify(): raised ZeroDivisionError: division by zero on instance 0"),
        ("return True", "verify(): returned True (bool), not a BoundCheck"),
        ("return BoundCheck(instance=0, holds='yes', detail='')", "not a BoundCheck"),
        ("return BoundCheck(instance=4, holds=True, detail='')", "checked instance 4, and was asked for 0"),
    ],
)
def test_whatever_an_exact_solver_does_wrong_is_told_of_it(folder: Path, body: str, said: str) -> None:
    (folder / "exact.py").write_text(
        f"from evaluator.task import BoundCheck\ndef verify(instance, *, limit_s):\n    {body}\n"
    )
    with pytest.raises(TaskError) as raised:
        list(load_task(str(folder)).verify())
    assert said in str(raised.value)
    assert f"{folder}/exact.py line " in str(raised.value)


def test_an_exact_solver_that_raises_is_no_answer_of_an_exact_solver(folder: Path) -> None:
    (folder / "exact.py").write_text("import helper\nplace = helper.place\n")
    (folder / "helper.py").write_text("def place(instance, *, seconds):\n    return [][instance.index]\n")
    task = load_task(str(folder))
    with pytest.raises(TaskError, match=r"helper\.py line 2, place\(\): raised IndexError: .* on instance 0"):
        list(solve_suite(task, task.suite(), seconds=1))
