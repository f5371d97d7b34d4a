"""A task's own code: what it may import, and what becomes of its mistakes: the task's fault, by file and line."""

import shutil
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Outcome, Verdict
from evaluator.evaluator import SandboxedEvaluator
from evaluator.suite_scorer import solve_suite
from evaluator.task_files import load_task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"
HEAD = "from evaluator import Infeasible, InvalidAnswer\n"
SUMMARISE = """def summarise(verdicts, instances):
    return {"combined_score": sum(verdict.cost is not None for verdict in verdicts) / len(verdicts)}
"""


def scored(folder: Path, source: str = HONEST, *, strict: bool = False) -> Evaluation:
    """What the task in `folder` says of a program."""
    task = load_task(str(folder))
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
        return evaluator.examine(one_file(source), evaluation) if strict else evaluation


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

GOOD = "return {}"


def test_a_judge_that_raises_is_the_tasks_fault_reported_by_file_line_function_and_instance(
    judged: Callable[..., Path],
) -> None:
    folder = judged("worth = 1 / (2 - instance['items'][0])\n" + GOOD.format(1))
    assert blamed(folder) == (
        f"{folder}/judge.py line 3, judge(): raised ZeroDivisionError: division by zero on instance 3"
    )


WRONG = [
    ("return None", "returned None (NoneType), not an int, a Fraction or a float"),
    ("return '3'", "returned '3' (str), not an int, a Fraction or a float"),
    ("return True", "returned True (bool), not an int, a Fraction or a float"),
    ("import numpy\nreturn numpy.bool_(True)", "returned np.True_ (bool), not an int, a Fraction or a float"),
    ("return 1j", "returned 1j (complex), not an int, a Fraction or a float"),
    ("return float('nan')", "returned nan: return a finite number, on instance 0"),
    ("return float('-inf')", "returned -inf"),
    ("return 10 ** 400", "or farther than 1e+100 from 0"),
    ("from fractions import Fraction\nreturn Fraction(1, 10 ** 5000)", "or farther than 1e+100 from 0"),
    ("raise SystemExit(0)", "line 3, judge(): raised SystemExit: 0 on instance 0"),
    ("return judge(instance, answer)", "judge(): raised RecursionError: maximum recursion depth exceeded"),
    ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "judge(): raised E on instance 0"),
    ("raise ValueError('\\x1b[2J' * 500)", "raised ValueError: \\x1b[2J"),
]


@pytest.mark.parametrize(("body", "expected"), WRONG, ids=[body[-40:] for body, _ in WRONG])
def test_whatever_a_judge_does_wrong_is_reported_of_the_judge(
    judged: Callable[..., Path], body: str, expected: str
) -> None:
    task = load_task(str(judged(body)))
    with pytest.raises(TaskError) as raised:
        task.judge.judge(task.suite().instances[0], 0)
    message = str(raised.value)
    assert expected in message
    assert "judge.py line " in message
    assert message.isprintable() and len(message) < 1000


def test_a_cost_may_be_an_int_or_the_exact_rational_that_a_float_is(judged: Callable[..., Path]) -> None:
    evaluation = scored(judged(GOOD.format("{5: 1, 2: 3}.get(instance['items'][0], 0.1)")))
    assert [result.cost for result in evaluation.results] == [Fraction(0.1), 1, Fraction(0.1), 3, Fraction(0.1)]
    assert Evaluation.from_json(evaluation.to_json()).results[0].cost == Fraction(0.1)


def test_a_judge_that_stumbles_over_an_answer_is_the_tasks_fault_too(judged: Callable[..., Path]) -> None:
    """It has to take any answer at all; a program that is the first to give one is not to blame."""
    folder = judged(GOOD.format("min(instance['items'][answer], 10)"))
    assert scored(folder).correct
    assert "judge(): raised TypeError: list indices must be integers" in blamed(
        folder, "def smallest(items):\n    return 'x'\n"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("raise KeyError('cost')", "line 5, summarise(): raised KeyError: 'cost'"),
        ("return 0.5", "summarise(): returned 0.5 (float), not numbers by name"),
        ("return {'combined_score': float('nan')}", "gave 'combined_score' as nan; it must be finite"),
        ("return {'combined_score': 1, 'published_score': 10 ** 400}", "gave 'published_score' as a number too large"),
        ("return {'combined_score': None}", "gave 'combined_score' as None (NoneType), not a number"),
        ("return {'combined_score': 1, 'a': 'b'}", "gave 'a' as 'b' (str), not a number"),
        ("return {1: 1}", "returned {1: 1} (dict), not numbers by name"),
        ("return {'a': 1}", "gave no 'combined_score', which is the objective's metric"),
    ],
)
def test_whatever_summarise_does_wrong_is_reported_of_it(judged: Callable[..., Path], more: str, message: str) -> None:
    task = load_task(str(judged(GOOD.format(7), f"def summarise(verdicts, instances):\n    {more}\n")))
    instances = task.suite().instances
    with pytest.raises(TaskError) as raised:
        task.judge.summarise([Verdict(outcome=Outcome.OK, cost=Fraction(7))] * len(instances), instances)
    assert message in str(raised.value)


def test_the_other_functions_of_a_judge_are_reported_likewise(judged: Callable[..., Path]) -> None:
    assert "line 5, summarise(): raised ZeroDivisionError" in blamed(
        judged(GOOD.format(7), "def summarise(verdicts, instances):\n    return 1 / 0\n")
    )
    fails = "raise Infeasible('no')"
    assert "line 7, describe(): raised ZeroDivisionError: division by zero on instance 0" in blamed(
        judged(fails, "def describe(instance):\n    return 1 / 0\n")
    )
    assert "describe(): returned 3 (int), not a text, on instance 0" in blamed(
        judged(fails, "def describe(instance):\n    return 3\n")
    )
    assert "renamed(): raised KeyError: 'names'" in blamed(
        judged(GOOD.format(7), "def renamed(data, rng):\n    return data['names']\n"), strict=True
    )
    assert "renamed(): returned what is no JSON (TypeError: " in blamed(
        judged(GOOD.format(7), "def renamed(data, rng):\n    return {'items': {1, 2}}\n"), strict=True
    )
    assert "renamed(): returned [1] (list), not an instance's data" in blamed(
        judged(GOOD.format(7), "def renamed(data, rng):\n    return [1]\n"), strict=True
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def judge(:\n", "judge.py line 1: is not Python (invalid syntax)"),
        ("import json\nx = [\n", "judge.py line 2: is not Python ('[' was never closed)"),
        ("import json\n\nnothing\n", "judge.py line 3, while it was loaded: raised NameError: name 'nothing' is not"),
        ("import nonesuch\n", "judge.py line 1, while it was loaded: raised ModuleNotFoundError: No module named"),
        ("raise SystemExit\n", "judge.py line 1, while it was loaded: raised SystemExit"),
        ("judge = 3\n", "judge.py: does not define judge()"),
        (
            "def judge(instance): return 1\n",
            "line 1, judge(): is called as judge(instance, answer), and takes",
        ),
        (
            "judge = lambda instance, answer: 1\ndef draw(): pass\n",
            "line 2, draw(): is called as draw(",
        ),
        ("x = 1\0\n", "judge.py"),
    ],
)
def test_a_judge_that_does_not_load_is_reported_at_once(folder: Path, text: str, message: str) -> None:
    (folder / "judge.py").write_text(text)
    with pytest.raises(TaskError) as raised:
        load_task(str(folder))
    assert message in str(raised.value)


# -- helpers next to the judge -----------------------------------------------------------------------------------------


def test_a_judge_imports_modules_of_its_folder(judged: Callable[..., Path]) -> None:
    folder = judged(
        "from deeper import bottom\n" + GOOD.format("helper.worth(instance['items'][answer]) + bottom()"),
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


def test_a_helper_is_the_judges_own_whatever_it_is_called_and_nobody_elses(judged: Callable[..., Path]) -> None:
    folder = judged(GOOD.format("random.WORTH"), "import random\nimport evaluator\nimport statistics\n")
    (folder / "random.py").write_text("import math\nWORTH = 11\n")
    for name in ("evaluator", "fractions"):  # of the house; and what only the library imports
        (folder / f"{name}.py").write_text("raise RuntimeError('imported')\n")
    digest = load_task(str(folder)).digest
    assert scored(folder).results[0].cost == 11
    (folder / "random.py").write_text("WORTH = 12\n")
    assert load_task(str(folder)).digest != digest
    assert scored(folder).results[0].cost == 12


def test_a_package_next_to_the_judge_is_imported_and_all_of_it_decides_the_digest(judged: Callable[..., Path]) -> None:
    folder = judged(
        GOOD.format("lib.WORTH + deep() + lib.more.sub.X + other.Y"),
        "import lib\nimport lib.more.sub\nfrom lib.inner import deep\nfrom plain import other\n",
    )
    for name, text in (
        ("lib/__init__.py", "from .inner import deep\nWORTH = 1\n"),
        ("lib/inner.py", "from . import base\nfrom .more.sub import X\ndef deep():\n    return base.B + X\n"),
        ("lib/base.py", "B = 10\n"),
        ("lib/more/sub.py", "from ..base import B\nX = 100 * B // 10\n"),
        ("lib/unused.py", "U = 1\n"),
        ("plain/other.py", "Y = 5\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    digest = load_task(str(folder)).digest
    assert scored(folder).results[0].cost == 1 + 110 + 100 + 5
    assert "lib" not in sys.modules
    (folder / "lib" / "__pycache__").mkdir()
    (folder / "lib" / "__pycache__" / "x.py").write_text("X = 1\n")
    assert load_task(str(folder)).digest == digest
    (folder / "lib" / "unused.py").write_text("U = 2\n")
    assert load_task(str(folder)).digest != digest
    (folder / "lib" / "inner.py").write_text("from .nonesuch import x\ndeep = 1\n")
    assert f"{folder}/lib/inner.py line 1, while it was loaded" in blamed(folder)


def test_a_judge_gets_an_instance_of_its_own_each_time(judged: Callable[..., Path]) -> None:
    folder = judged("instance['items'].append(0)\n" + GOOD.format("len(instance['items'])"))
    costs = [result.cost for result in scored(folder, strict=True).results]
    assert costs == [4, 3, 5, 4, 2]
    assert scored(folder, strict=True).outcome is Outcome.OK, "the second time, too"


# -- adapter -----------------------------------------------------------------------------------------------------------

ADAPTER = "def prepare(instance):\n{}    return (instance['items'],), lambda answer: answer\n"


def test_an_adapter_that_does_not_load_is_reported_by_its_line(folder: Path) -> None:
    for text, message in (
        ("x = (\n", "adapter.py line 1: is not Python"),
        ("import json\nimport nonesuch\n", "adapter.py line 2, while it was loaded: raised ModuleNotFoundError: "),
        ("x = 1\n", "adapter.py: does not define prepare()"),
        ("raise SystemExit(4)\n", "adapter.py line 1, while it was loaded: raised SystemExit: 4"),
    ):
        (folder / "adapter.py").write_text(text)
        assert f"{folder}/{message}" in blamed(folder)


@pytest.mark.parametrize(
    ("line", "message"),
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
    folder: Path, line: str, message: str
) -> None:
    (folder / "adapter.py").write_text(ADAPTER.format(line))
    assert message in blamed(folder, "# another program\n" + HONEST)


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
    ("body", "message"),
    [
        ("return 1 / 0", "exact.py line 3, verify(): raised ZeroDivisionError: division by zero on instance 0"),
        ("return True", "verify(): returned True (bool), not a BoundCheck"),
        ("return BoundCheck(instance=0, holds='yes', detail='')", "not a BoundCheck"),
        ("return BoundCheck(instance=4, holds=True, detail='')", "checked instance 4 instead of 0"),
    ],
)
def test_whatever_an_exact_solver_does_wrong_is_reported_of_it(folder: Path, body: str, message: str) -> None:
    (folder / "exact.py").write_text(
        f"from evaluator.task import BoundCheck\ndef verify(instance, *, limit_s):\n    {body}\n"
    )
    with pytest.raises(TaskError) as raised:
        list(load_task(str(folder)).verify())
    assert message in str(raised.value)
    assert f"{folder}/exact.py line " in str(raised.value)


def test_an_exact_solver_that_raises_is_no_answer_of_an_exact_solver(folder: Path) -> None:
    (folder / "exact.py").write_text("import helper\nplace = helper.place\n")
    (folder / "helper.py").write_text("def place(instance, *, seconds):\n    return [][instance.index]\n")
    task = load_task(str(folder))
    with pytest.raises(TaskError, match=r"helper\.py line 2, place\(\): raised IndexError: .* on instance 0"):
        list(solve_suite(task, task.suite(), seconds=1))
