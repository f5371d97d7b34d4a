"""Odd tasks: each works, or gets its sentence."""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import SandboxError, TaskError
from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.loop.climbing import evolve, in_fork, wait_until

INITIAL = "# EVOLVE-BLOCK-START\ndef answer(x):\n    return x\n# EVOLVE-BLOCK-END\n"
HEAD = "from evaluator import Infeasible, InvalidAnswer\n"
ECHO = "INSTANCES = [1, 2, 3]\ndef judge(instance, answer):\n    return answer\n"

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a task: its judge, its `task.yaml` (None: without one) and initial program."""

    def write(judge: str, yaml: str | None = None, initial: str = INITIAL, name: str = "odd") -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "judge.py").write_text(HEAD + judge)
        (folder / "initial.py").write_text(initial)
        if yaml is not None:
            (folder / "task.yaml").write_text(yaml)
        return folder

    return write


def scored(folder: Path, source: str = INITIAL, *, strict: bool = True) -> Evaluation:
    task = load_task(str(folder))
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
        return evaluator.examine(one_file(source), evaluation) if strict else evaluation


def returning(expression: str) -> str:
    return f"def answer(x):\n    return {expression}\n"


def test_the_least_is_a_judge_and_an_initial_program(make: Make) -> None:
    folder = make(ECHO)
    task = load_task(str(folder))
    assert (task.name, task.entry_point, task.default_suite) == ("odd", "answer", "default")
    evaluation = scored(folder)
    assert (evaluation.value, evaluation.combined_score, evaluation.published_score) == (2.0, 2.0, None)
    assert evaluation.metrics == {"score": 2.0, "success_rate": 1.0}
    record = json.loads(json.dumps(evaluation.to_json()))
    assert Evaluation.from_json(record).to_json() == record


@pytest.mark.parametrize("direction", ["minimise", "maximise"])
@pytest.mark.parametrize(("low", "high"), [("1", "2"), ("-7", "-3"), ("1e-300", "2e-300"), ("1e90", "1.5e90")])
def test_the_better_value_has_the_higher_score_in_either_direction(
    make: Make, direction: str, low: str, high: str
) -> None:
    task = load_task(str(make(ECHO, f"objective: {{metric: worth, direction: {direction}, unit: EUR}}\n")))
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        small, large = (evaluator.evaluate(one_file(returning(text))) for text in (low, high))
    assert (small.value, large.value) == (float(low), float(high))
    assert small.results[0].cost == Fraction(float(low))
    assert (small.combined_score > large.combined_score) is (direction == "minimise")
    assert small.metrics["worth"] == float(low)


def test_what_fails_scores_its_share_of_successes_whatever_the_scale(make: Make) -> None:
    judge = (
        "INSTANCES = [1, 2, 3, 4]\n"
        "def judge(instance, answer):\n"
        "    if instance == 2: raise Infeasible('two is never feasible')\n"
        "    if answer is None: raise InvalidAnswer()\n"
        "    return answer\n"
    )
    folder = make(judge, "objective: {metric: cost, direction: minimise}\n")
    evaluation = scored(folder)
    assert (evaluation.combined_score, evaluation.value, evaluation.correct) == (0.75, None, False)
    assert [r.outcome.value for r in evaluation.results] == ["ok", "infeasible", "ok", "ok"]
    assert evaluation.results[1].detail == "two is never feasible"
    assert scored(folder, returning("None")).results[0].detail == "the judge gives no reason"


def test_bounds_of_a_task_that_maximises_are_upper_bounds(make: Make) -> None:
    yaml = "objective: {metric: gain, direction: maximise}\nsuites: {default: {bounds: bounds.json}}\n"
    folder = make(ECHO, yaml)
    (folder / "bounds.json").write_text(json.dumps({"bounds": [{"upper_bound": 4, "proven": True}] * 3}))
    good, hole = scored(folder), scored(folder, returning("5"))
    assert (good.ceiling, good.gap, good.quarantine) == (4.0, 2.0, None)
    assert good.metrics["optimality"] == pytest.approx((1 / 4 + 2 / 4 + 3 / 4) / 3)
    assert hole.quarantine is not None
    assert "value 5 is above the proven optimum 4" in hole.quarantine
    (folder / "bounds.json").write_text(json.dumps({"bounds": [{"lower_bound": 4}] * 3}))
    with pytest.raises(
        TaskError, match=r"bounds\[0\]\.lower_bound is given, .* is to maximise, which needs upper_bound"
    ):
        scored(folder)


@pytest.mark.parametrize(("answer", "beyond"), [("5", False), ("5 + 1e-9", False), ("5.001", True)])
def test_better_than_every_listed_value_is_said_with_its_source(make: Make, answer: str, beyond: bool) -> None:
    listed = "[{value: 4, source: A. Author, date: 2024-05-01}, {value: 5, source: B. Writer}]"
    folder = make(ECHO, f"suites: {{default: {{best_known: {listed}}}}}\n")
    evaluation = scored(folder, returning(answer))
    assert evaluation.correct
    assert evaluation.best_known is not None
    assert (evaluation.best_known.value, evaluation.best_known.score) == (5.0, 5.0)
    assert (evaluation.beyond is not None) is beyond
    if evaluation.beyond is not None:
        assert evaluation.beyond == (
            "better than every value listed here: score 5.001, where the best listed is 5 (B. Writer)"
        )


def test_a_listed_value_may_be_of_one_instance(make: Make) -> None:
    listed = "[{value: '5/2', source: S, instance: 1}]"
    yaml = f"objective: {{metric: cost, direction: minimise}}\nsuites: {{default: {{best_known: {listed}}}}}\n"
    folder = make(ECHO, yaml)
    evaluation = scored(folder)
    assert evaluation.best_known is None
    assert evaluation.beyond == ("better than every value listed here: instance 1: 2, where the best listed is 2.5 (S)")
    (folder / "task.yaml").write_text(yaml.replace("instance: 1", "instance: 3"))
    with pytest.raises(TaskError, match=r"task\.yaml line 2: .*best_known\[0\]\.instance is 3; .* from 0 to 2"):
        scored(folder)


@pytest.mark.parametrize("count", [1, 2000])
def test_one_instance_or_two_thousand(make: Make, count: int) -> None:
    folder = make(f"INSTANCES = list(range({count}))\ndef judge(instance, answer):\n    return answer\n")
    evaluation = scored(folder, strict=False)
    assert evaluation.correct
    assert evaluation.value == (count - 1) / 2


def test_an_answer_of_five_megabytes_where_the_task_allows_it(make: Make) -> None:
    judge = "INSTANCES = [1]\ndef judge(instance, answer):\n    return len(answer)\n"
    long = returning("'x' * 5_000_000")
    assert scored(make(judge, "limits: {answer_kb: 5000}\n"), long).value == 5_000_000
    refused = scored(make(judge, name="other"), long)
    assert refused.outcome is Outcome.OUTPUT_LIMIT
    assert "over the limit of 65536 bytes" in refused.detail
    with pytest.raises(TaskError, match=r"limits\.answer_kb: must be less than or equal to 8192, not 9000"):
        load_task(str(make(judge, "limits: {answer_kb: 9000}\n", name="third")))


def test_numpys_scalars_are_the_numbers_that_they_are(make: Make) -> None:
    values = {
        "numpy.float64(0.1)": Fraction(0.1),
        "numpy.float32(0.1)": Fraction(float.fromhex("0x1.99999ap-4")),
        "numpy.int64(7)": Fraction(7),
        "numpy.array(3)": Fraction(3),
    }
    judge = f"VALUES = [{', '.join(values)}]\ndef judge(instance, answer):\n    return VALUES[instance]\n"
    folder = make(f"import numpy\nINSTANCES = [0, 1, 2, 3]\n{judge}")
    assert [result.cost for result in scored(folder).results] == [*values.values()]


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("INSTANCES = 3\n", "INSTANCES is 3 (int), not a list of at least one instance"),
        ("INSTANCES = []\n", "INSTANCES is [] (list), not a list"),
        ("INSTANCES = [{1}]\n", "INSTANCES[0] cannot be written as JSON (TypeError: "),
        ("INSTANCES = [{1: 2}]\n", "INSTANCES[0] cannot be written as JSON (TypeError: the key 1 is no text)"),
        ("INSTANCES = [float('nan')]\n", "INSTANCES[0] cannot be written as JSON (ValueError: "),
        ("", "INSTANCES is not defined, and the suite names no file of instances"),
        ("INSTANCES = [1]\ndef summarise(verdicts, instances): return {'other': 1}\n", "gave no 'score'"),
    ],
)
def test_instances_and_metrics_that_are_none_get_their_sentence(make: Make, judge: str, message: str) -> None:
    folder = make("def judge(instance, answer): return 1\n" + judge)
    with pytest.raises(TaskError) as raised:
        scored(folder)
    assert message in str(raised.value)
    assert "judge.py" in str(raised.value)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("name: ../up\n", "line 1: name: must be a plain name"),
        ("\nname: two words\n", "line 2: name: must be a plain name"),
        ("objective: minimise\n", "line 1: objective: must be a mapping, not 'minimise'"),
        (
            "objective: {metric: x, direction: minimize}\n",
            "direction: must be 'minimise' or 'maximise', not 'minimize'",
        ),
        ("objective: {metric: combined_score, direction: minimise}\n", "combined_score is better the larger it is"),
        ("objective: {metric: a b}\n", "objective.metric: must be a word of at most 40"),
        ("packages: [os]\n", "lists 'os' under `packages`, and it is part of Python itself"),
        ("packages: ['../x']\n", "packages[0]: must be the name that is imported"),
        ("limits: {cpu_per_instance_s: 0}\n", "limits.cpu_per_instance_s: must be greater than 0, not 0"),
        ("limits: {memory: 3}\n", "unknown key 'limits.memory' (did you mean 'limits.memory_mb'?)"),
        ("suites: {}\n", "suites: must have at least 1 item, not {}"),
        ("suites: {a: {best_known: [{value: 3}]}}\n", "best_known[0].source is missing"),
    ],
)
def test_what_task_yaml_says_wrongly_is_reported_by_line_and_key(make: Make, yaml: str, message: str) -> None:
    folder = make(ECHO, yaml)
    with pytest.raises(TaskError) as raised:
        scored(folder)
    assert message in str(raised.value)


def test_a_package_that_is_not_installed_or_does_not_work_gets_its_sentence(make: Make) -> None:
    with pytest.raises(
        SandboxError,
        match=r"^this task lists 'nonesuch' under `packages` in its task\.yaml, which is not installed",
    ):
        scored(make(ECHO, "packages: [nonesuch]\n"))
    with pytest.raises(SandboxError, match=r"the package 'numpy\.nonesuch' does not work in the sandbox"):
        scored(make(ECHO, "packages: [numpy, numpy.nonesuch]\n", name="other"))


def test_what_is_not_listed_is_not_importable(make: Make) -> None:
    evaluation = scored(make(ECHO), "import numpy\n" + INITIAL)
    assert evaluation.outcome is Outcome.LOAD_ERROR
    assert "import numpy is not available in the sandbox" in evaluation.detail


def test_scipy_computes_in_the_sandbox(make: Make) -> None:
    pytest.importorskip("scipy")
    source = (
        "from scipy.optimize import linprog, minimize, linear_sum_assignment\nimport numpy as np\n"
        "from scipy.spatial import ConvexHull, Delaunay\n"
        "from scipy.stats import norm\nfrom scipy.special import gamma\n"
        "from scipy.sparse.csgraph import minimum_spanning_tree\n"
        "def answer(x):\n"
        "    rows, columns = linear_sum_assignment([[4, 1], [2, 3]])\n"
        "    hull = ConvexHull(np.random.rand(10, 2))\n"
        "    best = minimize(lambda v: (v[0] - x) ** 2, [0.0], method='SLSQP')\n"
        "    lp = linprog([1.0], bounds=[(x, None)])\n"
        "    return round(float(best.x[0])) + round(lp.fun) + float(gamma(1)) + float(norm.cdf(0)) * 0\n"
    )
    evaluation = scored(make(ECHO, "packages: [scipy]\n"), source, strict=False)
    assert evaluation.detail == ""
    assert evaluation.value == 5.0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def one(x): return 1\ndef two(x): return 2\n", "which function is called? .* (found: one, two)"),
        ("_hidden = 3\n", "(found: none)"),
        ("def (:\n", "initial.py line 1: is not Python"),
    ],
)
def test_an_entry_point_that_cannot_be_decided_gets_its_sentence(make: Make, source: str, message: str) -> None:
    with pytest.raises(TaskError) as raised:
        load_task(str(make(ECHO, initial=source)))
    for part in message.split(" .* "):
        assert part in str(raised.value)


def test_helpers_outside_the_block_and_hidden_ones_are_no_entry_points(make: Make) -> None:
    block = "# EVOLVE-BLOCK-START\ndef _help(x): return x\ndef go(x): return _help(x)\n# EVOLVE-BLOCK-END\n"
    assert load_task(str(make(ECHO, initial="def outside(): pass\n" + block))).entry_point == "go"


def test_a_folder_with_blanks_and_dots_is_a_task(make: Make) -> None:
    folder = make(ECHO, name="a b/My task (2)")
    assert load_task(str(folder / ".." / "My task (2)")).name == "My-task-2"


def test_instances_of_any_kind_are_the_arguments_of_the_program(make: Make) -> None:
    judge = (
        "INSTANCES = [{'a': 1, 'b': (2, 3)}, {'a': 0, 'b': []}]\n"
        "def judge(instance, answer):\n    return answer if isinstance(instance['b'], list) else None\n"
    )
    assert scored(make(judge), "def answer(a, b):\n    return a + sum(b)\n").value == 3.0
    listed = "INSTANCES = [[1, 2], 'text', None]\ndef judge(instance, answer):\n    return answer\n"
    source = "def answer(given):\n    return 1 if given is None else len(given)\n"
    assert scored(make(listed, name="other"), source).value == pytest.approx(7 / 3)


def test_what_a_judge_prints_is_not_in_the_answer_of_a_command(make: Make, tmp_path: Path) -> None:
    folder = make("print('loading')\n" + ECHO.replace("    return", "    print('judging', answer)\n    return"))
    ran = evolve(tmp_path, "score", str(folder / "initial.py"), "--task", str(folder), "--json")
    (row,) = json.loads(ran.stdout)
    assert (row["metric"], row["value"], row["direction"]) == ("score", 2.0, "maximise")
    assert "judging 3" in ran.stderr


def test_ctrl_c_ends_a_judge_that_hangs(make: Make, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    hang = f"    open({str(begun)!r}, 'w').close()\n    while True: pass\n"
    folder = make(ECHO.replace("    return answer\n", hang))
    for command in (["score", str(folder / "initial.py")], ["run", "--generations", "3"]):
        process = in_fork(tmp_path, *command, "--task", str(folder))
        wait_until(begun.exists, process)
        begun.unlink()
        os.kill(process.pid, signal.SIGINT)
        process.join(0.3)
        with contextlib.suppress(ProcessLookupError):  # one may have been enough
            os.kill(process.pid, signal.SIGINT)
        process.join(20)
        assert process.exitcode == 130


def test_a_run_whose_judge_was_fixed_goes_on(make: Make, tmp_path: Path) -> None:
    initial = INITIAL.replace("def answer", "STEP = 1.5\n\n\ndef answer").replace("return x", "return x * STEP")
    folder = make(ECHO, "objective: {metric: cost, direction: minimise, unit: s}\n", initial)
    evolve(tmp_path, "run", "--task", str(folder), "--generations", "6", "--name", "r", "--parallel", "1")
    shown: dict[str, Any] = json.loads(evolve(tmp_path, "show", "r", "best", "--json").stdout)
    assert shown["value"] == -shown["combined_score"] < 3.0
    assert shown["metric"] == "cost"
    (folder / "judge.py").write_text(HEAD + ECHO.replace("return answer", "return 1 / 0"))
    broken = evolve(tmp_path, "resume", "r", "--generations", "7", "--rescore", code=2)
    assert "ZeroDivisionError" in broken.stderr
    (folder / "judge.py").write_text(HEAD + ECHO)
    evolve(tmp_path, "resume", "r", "--generations", "8", "--rescore")
