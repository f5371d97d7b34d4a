"""Each way a program can end has one outcome, described in words that help to fix it, the same every time."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Instance, Limits, Suite, Task
from tests.builders import one_file

HONEST = "def smallest(items):\n    return items.index(min(items))\n"


def program(body: str, *, before: str = "") -> str:
    """A program that behaves on the first two instances and runs `body` on the third."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return (
        f"{before}\ncalls = []\ndef smallest(items):\n    calls.append(1)\n"
        f"    if len(calls) == 3:\n{lines}\n    return items.index(min(items))\n"
    )


def test_an_honest_program_reaches_the_ceiling(evaluator: SandboxedEvaluator) -> None:
    evaluation = evaluator.evaluate(one_file(HONEST))
    assert evaluation.correct
    assert evaluation.outcome is Outcome.OK
    assert evaluation.combined_score == evaluation.ceiling == evaluator.ceiling
    assert evaluation.gap == 0
    assert evaluation.runtime_s > 0
    assert evaluation.peak_memory_mb > 5
    assert [result.instance for result in evaluation.results] == [0, 1, 2, 3, 4]
    assert Evaluation.from_json(evaluation.to_json()).combined_score == evaluation.combined_score


GOES_ON = [
    ("return 1 / 0", Outcome.EXCEPTION, "ZeroDivisionError: division by zero"),
    ("raise KeyError('size')", Outcome.EXCEPTION, "KeyError: 'size'"),
    ("raise OSError(2, 'No such file', b'/x')", Outcome.EXCEPTION, "[Errno 2] No such file: b'/x'"),
    ("raise SystemExit(3)", Outcome.EXCEPTION, "SystemExit: 3"),
    ("class Bare(BaseException): pass\nraise Bare", Outcome.EXCEPTION, "Bare"),
    ("def deeper(n): return deeper(n + 1)\ndeeper(0)", Outcome.EXCEPTION, "RecursionError"),
    ("return 17", Outcome.INVALID_OUTPUT, "instance 2 of 5 (4 items): the answer is not an index"),
    ("return None", Outcome.INVALID_OUTPUT, "not an index"),
    ("return float('nan')", Outcome.INVALID_OUTPUT, "ValueError: Out of range float"),
    ("return float('inf')", Outcome.INVALID_OUTPUT, "ValueError"),
    ("return {1, 2}", Outcome.INVALID_OUTPUT, "not JSON serializable"),
    ("loop = []\nloop.append(loop)\nreturn loop", Outcome.INVALID_OUTPUT, "Circular reference"),
    ("return 10 ** 5000", Outcome.INVALID_OUTPUT, "ValueError"),
    ("return 'x' * 100_000", Outcome.OUTPUT_LIMIT, "over the limit of 65536 bytes"),
    ("hoard = []\nwhile True: hoard.append(bytes(1 << 24))", Outcome.OOM, "over the limit of 512 MB of memory"),
    ("bytearray(10 ** 12)", Outcome.OOM, "over the limit of 512 MB of memory on instance 2 of 5 (4 items)"),
]


@pytest.mark.parametrize(("body", "outcome", "message"), GOES_ON, ids=[case[0].replace("\n", "; ") for case in GOES_ON])
def test_after_a_failure_that_leaves_the_process_whole_the_next_instance_runs(
    evaluator: SandboxedEvaluator, body: str, outcome: Outcome, message: str
) -> None:
    evaluation = evaluator.evaluate(one_file(program(body)))
    assert evaluation.outcome is outcome, evaluation.detail
    assert message in evaluation.detail
    assert [result.outcome for result in evaluation.results] == [
        Outcome.OK,
        Outcome.OK,
        outcome,
        Outcome.OK,
        Outcome.OK,
    ]
    assert not evaluation.correct
    assert evaluation.combined_score == 0.8


ENDS = [
    ("while True: pass", Outcome.CPU_LIMIT, "over the limit of 0.4 s CPU on instance 2 of 5 (4 items)"),
    ("import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", Outcome.CPU_LIMIT, "over the limit of 0.4 s CPU"),
    ("x = 7 ** (10 ** 9)", Outcome.CPU_LIMIT, "over the limit of 0.4 s CPU"),
    (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        Outcome.CPU_LIMIT,
        "over the limit of 0.4 s CPU",
    ),
    ("import os\nos._exit(7)", Outcome.EXITED, "exit status 7"),
    ("import os\nos.abort()", Outcome.CRASH, "the process died of SIG"),
    ("import os\nos.closerange(3, 100)", Outcome.EXITED, "exit status 1"),
    ("import os\nos.close(4)\nwhile True: pass", Outcome.PROTOCOL, "closed the channel"),
]


@pytest.mark.parametrize(("body", "outcome", "message"), ENDS, ids=[case[0].replace("\n", "; ") for case in ENDS])
def test_after_a_death_the_rest_is_not_run(
    evaluator: SandboxedEvaluator, body: str, outcome: Outcome, message: str
) -> None:
    evaluation = evaluator.evaluate(one_file(program(body)))
    assert evaluation.outcome is outcome, evaluation.detail
    assert message in evaluation.detail
    assert [result.outcome for result in evaluation.results[3:]] == [Outcome.NOT_RUN, Outcome.NOT_RUN]
    assert evaluation.combined_score == 0.4
    assert evaluator.evaluate(one_file(HONEST)).correct


def test_the_total_is_limited_too(evaluator: SandboxedEvaluator) -> None:
    """0.3 s on every instance: each within its limit of 0.4 s, together over 1 s."""
    slow = (
        "import time\ndef smallest(items):\n    end = time.process_time() + 0.3\n"
        "    while time.process_time() < end: pass\n    return items.index(min(items))\n"
    )
    evaluation = evaluator.evaluate(one_file(slow))
    assert evaluation.outcome is Outcome.CPU_LIMIT
    assert evaluation.detail == "over the limit of 1 s CPU in total on instance 3 of 5 (3 items)"


LOAD_ERRORS = [
    ("def smallest(items) return 0", "SyntaxError: expected ':'"),
    ("", "the program does not define smallest()"),
    ("smallest = 3", "smallest is not callable: it is of type int"),
    ("1 / 0", "line 1, in <module>: 1 / 0"),
    ("import requests", "import requests is not available in the sandbox; available: __future__, abc, "),
    ("import sqlite3", "import sqlite3 is not available in the sandbox"),
    ("import evaluator", "import evaluator is not available in the sandbox"),
    ("from os import nonesuch", "ImportError"),
    ("smallest = '\ud800'", "UnicodeEncodeError"),
    ("smallest = 1\0", "null bytes"),
    ("(" * 5000, "SyntaxError: too many nested parentheses"),
    ("x = 1\nreturn x", "line 2, in <module>: return x"),  # what only the compiler finds
    ("def smallest(items, items): return 0", "SyntaxError: duplicate argument 'items'"),
    ("hoard = bytearray(10 ** 12)", "loading needs more than the limit of 512 MB"),
    ("while True: pass", "over the limit of 0.4 s CPU while the program was loaded"),
    ("import os\nos._exit(0)", "exit status 0 while the program was loaded"),
    ("x = 1\n" * 200_000, "1200000 characters long; at most 1048576 are run"),
]


@pytest.mark.parametrize(("source", "message"), LOAD_ERRORS, ids=[repr(case[0][:40]) for case in LOAD_ERRORS])
def test_a_program_that_does_not_load_gets_the_reason(evaluator: SandboxedEvaluator, source: str, message: str) -> None:
    evaluation = evaluator.evaluate(one_file(source))
    expected = {"while True: pass": Outcome.CPU_LIMIT, "import os\nos._exit(0)": Outcome.EXITED}
    assert evaluation.outcome is expected.get(source, Outcome.LOAD_ERROR)
    assert message in evaluation.detail
    assert {result.outcome for result in evaluation.results} == {Outcome.NOT_RUN}
    assert evaluation.combined_score == 0
    assert message[:40] in evaluation.feedback


def test_what_the_compiler_makes_gigabytes_of_is_held_by_the_limits(evaluator: SandboxedEvaluator) -> None:
    """It writes each `finally` twice. Which limit comes first is the machine's affair."""
    opened = "".join(f"{' ' * level}try: pass\n{' ' * level}finally:\n" for level in range(60))
    evaluation = evaluator.evaluate(one_file(f"{opened}{' ' * 60}pass\n{HONEST}"))
    assert (evaluation.outcome, evaluation.detail) in (
        (Outcome.CPU_LIMIT, "over the limit of 0.4 s CPU while the program was loaded"),
        (Outcome.LOAD_ERROR, "loading needs more than the limit of 512 MB of memory"),
    )
    assert evaluator.evaluate(one_file(HONEST)).correct


def test_a_program_that_blocks_meets_the_wall_limit(smallest: Task, quick_suite: Suite) -> None:
    with SandboxedEvaluator(smallest, quick_suite, workers=2) as evaluator:
        evaluation = evaluator.evaluate(one_file(program("import os\nos.read(3, 1)")))
        assert evaluation.outcome is Outcome.TIMEOUT
        assert evaluation.detail == "over the limit of 1 s of wall time on instance 2 of 5 (4 items)"
        assert evaluator.evaluate(one_file(HONEST)).correct


def test_waiting_a_little_on_every_instance_meets_the_total_wall_limit(smallest: Task) -> None:
    class HalfASecond(Limits):
        @property
        def wall_total_s(self) -> float:
            return 0.5

    suite = smallest.suite()
    suite = dataclasses.replace(suite, limits=HalfASecond(**dataclasses.asdict(suite.limits)))
    drip = (
        "import threading\ndef smallest(items):\n    threading.Event().wait(0.2)\n    return items.index(min(items))\n"
    )
    with SandboxedEvaluator(smallest, suite, workers=2) as evaluator:
        evaluation = evaluator.evaluate(one_file(drip))
    assert evaluation.outcome is Outcome.TIMEOUT
    assert "over the limit of 0.5 s of wall time in total" in evaluation.detail
    assert evaluation.results[-1].outcome is Outcome.NOT_RUN


def test_what_a_program_prints_disturbs_nothing(evaluator: SandboxedEvaluator) -> None:
    noisy = "import sys\nprint('loading', flush=True)\n" + program("pass").replace(
        "calls.append(1)", "calls.append(1); print('x' * 10_000); sys.stderr.write('y' * 10_000); sys.stdin.read()"
    )
    assert evaluator.evaluate(one_file(noisy)).correct


def test_a_program_that_changes_its_arguments_is_judged_by_the_originals(evaluator: SandboxedEvaluator) -> None:
    cheat = "def smallest(items):\n    items[:] = [-1000]\n    return 0\n"
    evaluation = evaluator.evaluate(one_file(cheat))
    assert [result.cost for result in evaluation.results] == [3, 5, 9, 2, 4]
    assert evaluation.quarantine is None


@pytest.fixture(scope="module")
def numpy_evaluator(with_numpy: Task) -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(with_numpy, with_numpy.suite(), workers=1) as evaluator:
        yield evaluator


def test_random_numbers_are_the_same_in_every_evaluation(numpy_evaluator: SandboxedEvaluator) -> None:
    gambler = (
        "import random\nimport numpy\nshift = random.random()\n"
        "def smallest(items):\n"
        "    return int((random.random() + shift + numpy.random.random()) * 1000) % len(items)\n"
    )
    first, second = numpy_evaluator.evaluate(one_file(gambler)), numpy_evaluator.evaluate(one_file(gambler))
    assert [r.cost for r in first.results] == [r.cost for r in second.results]
    assert first.evaluator_version == second.evaluator_version


TELLS_ITS_DRAWS = (
    "import random\nimport numpy\nloaded = random.random()\n"
    "def smallest(items):\n"
    "    raise ValueError(f'{loaded} {random.random()} {numpy.random.random()}')\n"
)


def draws_of(task: Task, name: str, *items: list[int]) -> list[list[str]]:
    """What a program draws while it is loaded and on each instance, from `random` and from `numpy.random`."""
    instances = tuple(Instance(index=index, data={"items": each}) for index, each in enumerate(items))
    suite = dataclasses.replace(task.suite(), name=name, instances=instances)
    with SandboxedEvaluator(task, suite, workers=1) as evaluator:
        return [result.detail.split()[1:] for result in evaluator.evaluate(one_file(TELLS_ITS_DRAWS)).results]


def test_the_first_draw_tells_nothing_that_the_instance_does_not(with_numpy: Task) -> None:
    one, two = [3, 1, 2], [3, 1, 4]
    first, second = draws_of(with_numpy, "five", one, two)
    assert first[0] == second[0]
    assert not {first[1], first[2]} & {second[1], second[2]}
    # The same instances elsewhere, in a suite of another name.
    assert draws_of(with_numpy, "held-out", two, one, one) == [second, first, first]


def test_numpy_is_there_with_its_submodules_when_the_task_asks(numpy_evaluator: SandboxedEvaluator) -> None:
    source = (
        "import numpy as np\nfrom numpy.linalg import solve\nfrom numpy.random import default_rng\n"
        "def smallest(items):\n"
        "    a = np.array(items, dtype=float)\n"
        "    solve(np.eye(2), np.ones(2)); np.fft.fft(a); default_rng(1).random(3); np.array2string(a)\n"
        "    np.linalg.svd(np.ones((3, 3))); np.polynomial.Polynomial([1, 2]); np.ma.masked_array(a)\n"
        "    np.einsum('i,i', a, a)\n"
        "    return int(np.argmin(a))\n"
    )
    evaluation = numpy_evaluator.evaluate(one_file(source))
    assert evaluation.correct, evaluation.detail


def test_a_cost_below_the_proven_bound_quarantines(smallest: Task) -> None:
    suite = smallest.suite()
    wrong = tuple(
        type(instance)(index=instance.index, data=instance.data, bound=(instance.bound or 0) + 1, proven=True)
        for instance in suite.instances
    )
    raised = type(suite)(name=suite.name, instances=wrong, limits=suite.limits, digest=suite.digest)
    with SandboxedEvaluator(smallest, raised, workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(HONEST))
    assert evaluation.quarantine == (
        "instance 0: cost 1 is below the proven optimum 2: the evaluator or the task has a bug"
    )
    assert evaluation.outcome is Outcome.OK
    assert not evaluation.correct
    assert "cannot be believed" in evaluation.feedback


HOSTILE = [
    "class E(Exception):\n    def __str__(self): return 'X' * (100 << 20)\n    __repr__ = __str__\n"
    "try: E.__name__ = 'E\\ud800' + 'n' * 100000\nexcept ValueError: E.__name__ = 'E' * 100000\n"
    "def smallest(items):\n    raise E('\\ud800\\x00\\x1b[2J\\n\\nTrailer: forged')\n",
    "class Loud(str):\n    def __str__(self): raise RuntimeError\n    __repr__ = __len__ = __iter__ = __str__\n"
    "def smallest(items):\n    raise OSError(Loud('a'), Loud('b'), Loud('c'))\n",
    "class Meta(type):\n    __name__ = property(lambda cls: 1 / 0)\n"
    "class E(Exception, metaclass=Meta): args = property(lambda self: 1 / 0)\n"
    "def smallest(items):\n    raise E(E(), [E()], 10 ** 5000)\n",
    "def smallest(items):\n    raise SyntaxError('x', ('<candidate>', 10 ** 100, 1, object()))\n",
    "def smallest(items):\n    raise ValueError('y' * 10_000_000)\n",
]


@pytest.mark.parametrize("source", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_exceptions_are_described_safely(evaluator: SandboxedEvaluator, source: str) -> None:
    evaluation = evaluator.evaluate(one_file(source))
    assert evaluation.outcome is Outcome.EXCEPTION
    assert len(evaluation.detail) <= 8192
    assert evaluation.detail.isascii()
    assert "\x1b" not in evaluation.detail
    assert "\x00" not in evaluation.detail
    for result in evaluation.results:
        assert len(result.detail) <= 300
        assert result.detail.isprintable()
    assert len(evaluation.feedback) <= 1000


def test_an_exception_is_described_by_the_programs_own_lines(evaluator: SandboxedEvaluator) -> None:
    source = (
        "def inner(items):\n    return items[99]\n\n"
        "def smallest(items):\n    return sorted(items, key=lambda i: inner(items))\n"
    )
    evaluation = evaluator.evaluate(one_file(source))
    assert evaluation.detail == (
        "Traceback (lines of the program):\n"
        "  line 5, in smallest: return sorted(items, key=lambda i: inner(items))\n"
        "  line 5, in <lambda>: return sorted(items, key=lambda i: inner(items))\n"
        "  line 2, in inner: return items[99]\n"
        "IndexError: list index out of range\n"
        "on instance 0 of 5 (3 items)"
    )
    assert evaluation.results[0].detail == "IndexError: list index out of range (line 2, in inner)"


def test_the_same_failure_has_the_same_words(evaluator: SandboxedEvaluator) -> None:
    """Addresses in memory are the one thing that honest messages often hold and that differs between processes."""
    source = "def smallest(items):\n    raise ValueError(f'cannot place {object()!r} and {smallest}')\n"
    first, second = evaluator.evaluate(one_file(source)), evaluator.evaluate(one_file(source))
    assert first.detail == second.detail
    assert "<object object at 0x...>" in first.detail
    assert first.feedback == second.feedback


@pytest.mark.parametrize("bounds", [[-3, -1, -9, -2, -4], ["-1/3", 0, "1/3", "-9/2", 0]])
def test_a_bound_may_be_negative_or_zero(changed: Callable[..., Task], folder: Path, bounds: list[object]) -> None:
    """What attains it is the optimum, and what is below is impossible, on either side of zero."""
    (folder / "bounds.json").write_text(json.dumps({"bounds": [{"lower_bound": b, "proven": True} for b in bounds]}))
    (folder / "judge.py").write_text(
        "from fractions import Fraction\n"
        f"BOUNDS = {dict(zip((3, 5, 9, 2, 4), bounds, strict=True))!r}\n"
        "def judge(instance, answer):\n"
        "    return Fraction(BOUNDS[instance['items'][0]]) + Fraction(answer)\n"
        "def summarise(verdicts, instances):\n"
        "    return {'combined_score': -float(sum(verdict.cost or 0 for verdict in verdicts))}\n"
    )
    task = changed()
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        for answer, impossible in (("0", False), ("1e-15", False), ("-1e-14", False), ("0.5", False), ("-1e-6", True)):
            evaluation = evaluator.evaluate(one_file(f"def smallest(items):\n    return {answer}\n"))
            assert evaluation.outcome is Outcome.OK
            assert (evaluation.quarantine is not None) is impossible, (answer, evaluation.quarantine)
            if answer == "0":
                assert evaluation.combined_score == evaluation.ceiling
