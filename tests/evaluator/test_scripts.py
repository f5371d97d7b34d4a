"""Programs scored by an evaluator script, in the real sandbox: every way in which that can go."""

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.errors import EvaluationCancelled, SandboxError
from evaluator.evaluation import Classification, Evaluation, Outcome
from evaluator.opening import open_evaluator
from evaluator.script import ScriptEvaluator
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.script_folders import GOOD, make_folder, make_task, says, says_text

LIMITS = {"cpu_total_s": 1, "wall_s": 12, "memory_mb": 400, "scratch_mb": 16}
NUMPY = """
import importlib.util, json, sys
import numpy as np

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
points = np.linspace(0.0, 1.0, 50)
error = float(np.abs(program.square(points) - points * points).max())
json.dump(
    {"correct": True, "combined_score": -error, "metrics": {"error": error}, "feedback": "closer, please",
     "artifacts": {"worst": "at 1.0"}, "private": {"seen": 50}},
    open(sys.argv[2], "w"),
)
"""
HALF = "# EVOLVE-BLOCK-START\ndef square(x):\n    return 0.5 * x\n# EVOLVE-BLOCK-END\n"


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptEvaluator]:
    """Of the script that writes whatever its program says."""
    task = make_task(tmp_path_factory.mktemp("mirror") / "mirror", limits=LIMITS)
    with ScriptEvaluator(task, task.suite(), workers=2) as opened:
        yield opened


def body(*lines: str, after: str = GOOD) -> str:
    """A program that does this when it is loaded."""
    return "\n".join([*lines, after])


def test_a_numpy_script_scores_a_program_by_its_own_number(tmp_path: Path) -> None:
    task = make_task(tmp_path / "numbers", evaluate=NUMPY, initial=HALF)
    with open_evaluator(task, task.suite(), workers=1) as opened:
        found = opened.evaluate(one_file(HALF))
        better = opened.evaluate(one_file(HALF.replace("0.5 * x", "x * x")))
    assert (found.correct, found.self_judged, found.combined_score) == (True, True, -0.5)
    assert [result.cost for result in found.results] == [Fraction(-1, 2)]
    assert dict(found.metrics) == {"error": 0.5}
    assert found.feedback == "closer, please\n\nworst:\nat 1.0"
    assert found.private == {"seen": 50}
    assert better.combined_score == 0.0
    assert (found.sandbox, found.evaluator_version) == (opened.sandbox, opened.version)
    assert found.runtime_s > 0
    assert found.peak_memory_mb > 10


def test_the_record_of_an_evaluation_is_read_back_as_it_was(evaluator: ScriptEvaluator) -> None:
    source = says(correct=True, combined_score=0.1, metrics={"m": 2}, private={"secret": [1, None]}, feedback="go on")
    found = evaluator.evaluate(one_file(source))
    again = Evaluation.from_json(found.to_json())
    assert (again.self_judged, again.private, again.feedback) == (True, {"secret": [1, None]}, "go on")
    assert again.results[0].cost == Fraction(0.1)
    assert "secret" not in found.feedback


REFUSED = [
    ('{"correct": true, "combined_score": NaN}', "NaN is not JSON"),
    (
        '{"correct": true}',
        "`combined_score` must be a finite number (at most 1e+100) where `correct` is true, and is missing",
    ),
    ('{"correct": true, "combined_score": true}', "and is true"),
    ('{"combined_score": 5}', "`correct` must be true or false, and is missing"),
    ('{"correct": 1, "combined_score": 5}', "`correct` must be true or false, and is int 1"),
    ("", "not plain JSON"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_a_result_that_is_none_is_no_verdict_but_the_programs_failure(
    evaluator: ScriptEvaluator, text: str, message: str
) -> None:
    found = evaluator.evaluate(one_file(says_text(text)))
    assert (found.outcome, found.correct, found.combined_score) == (Outcome.INVALID_OUTPUT, False, 0.0)
    assert found.self_judged
    assert message in found.detail
    assert message in found.feedback


def test_what_the_script_calls_incorrect_is_not_correct_whatever_its_score(evaluator: ScriptEvaluator) -> None:
    found = evaluator.evaluate(one_file(says(correct=False, combined_score=99.0, feedback="row 3 is empty\nand more")))
    assert (found.correct, found.outcome, found.combined_score) == (False, Outcome.INFEASIBLE, 0.0)
    assert found.detail == "evaluate.py says that the program is not correct: row 3 is empty"
    assert found.feedback == "evaluate.py says that the program is not correct.\n\nrow 3 is empty\nand more"


def test_a_huge_result_is_over_its_limit(evaluator: ScriptEvaluator) -> None:
    found = evaluator.evaluate(one_file(says(correct=True, combined_score=1, feedback="x" * 600_000)))
    assert found.outcome is Outcome.OUTPUT_LIMIT


def test_a_huge_output_is_cut_and_no_failure(evaluator: ScriptEvaluator) -> None:
    found = evaluator.evaluate(one_file(body("for _ in range(20000):", "    print('x' * 200)")))
    assert (found.correct, found.combined_score) == (True, 1.5)
    assert found.feedback == ""


def test_the_end_of_the_output_of_a_script_that_failed_is_shown(evaluator: ScriptEvaluator) -> None:
    lines = ("for number in range(500):", "    print('line', number)", "raise ValueError('row 17 of \\x1b[31m')")
    found = evaluator.evaluate(one_file(body(*lines)))
    assert found.outcome is Outcome.EXITED
    assert found.detail == "evaluate.py ended with status 1: ValueError: row 17 of \\x1b[31m"
    assert "line 499" in found.feedback
    assert "line 1\n" not in found.feedback
    assert "Traceback (most recent call last)" in found.feedback
    assert 'File "evaluate.py", line' in found.feedback
    assert 'File "program.py", line' in found.feedback
    assert "/tmp" not in found.feedback
    assert "\x1b" not in found.feedback
    assert len(found.feedback) < 3000
    assert evaluator.evaluate(one_file(body(*lines))).feedback == found.feedback


def test_the_words_are_the_same_at_each_level(
    evaluator: ScriptEvaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = body("import numpy", "numpy.linalg.inv(1)")
    task = make_task(tmp_path / "mirror", limits=LIMITS)
    monkeypatch.setenv("PATH", str(tmp_path))  # where no bubblewrap is found
    try:
        lower = open_evaluator(task, task.suite(), workers=1)
    except SandboxError:
        pytest.skip("this kernel has no Landlock that confines signals and sockets")
    with lower:
        assert lower.sandbox == "standard"
        found, before = lower.evaluate(one_file(source)), evaluator.evaluate(one_file(source))
        assert (found.outcome, found.detail, found.feedback) == (before.outcome, before.detail, before.feedback)
        assert lower.evaluate(one_file(GOOD)).combined_score == 1.5


def test_a_program_that_cannot_be_written_down_is_not_run(evaluator: ScriptEvaluator) -> None:
    assert evaluator.evaluate(one_file("x = '\ud800'")).outcome is Outcome.LOAD_ERROR


def test_no_result_is_said(evaluator: ScriptEvaluator) -> None:
    found = evaluator.evaluate(one_file(body("import os", "os._exit(0)")))
    assert (found.outcome, found.detail) == (Outcome.INVALID_OUTPUT, "evaluate.py wrote no result file")


def test_a_script_is_stopped_at_its_limits(evaluator: ScriptEvaluator, tmp_path: Path) -> None:
    def under(limit: str, value: float, *lines: str) -> Evaluation:
        task = make_task(tmp_path / limit, limits=LIMITS | {limit: value})
        with ScriptEvaluator(task, task.suite(), workers=1) as opened:
            return opened.evaluate(one_file(body(*lines)))

    found = under("wall_s", 1.5, "import time", "time.sleep(60)")
    assert found.outcome is Outcome.TIMEOUT
    assert "over the limit of 1.5 s" in found.detail
    found = evaluator.evaluate(one_file(body("import os", "os.fork()", "while True: pass")))
    assert found.outcome is Outcome.CPU_LIMIT
    found = under("cpu_total_s", 10, "taken = [bytearray(1 << 20) for _ in range(4000)]")
    assert found.outcome in (Outcome.OOM, Outcome.EXITED)
    assert not found.correct


def test_the_metric_of_the_task_must_be_among_the_metrics(tmp_path: Path) -> None:
    known = [{"value": 3, "source": "A. Author"}]
    task = make_task(
        tmp_path / "mine",
        objective={"metric": "length", "direction": "minimise", "unit": "km"},
        suites={"default": {"best_known": known}},
    )
    with open_evaluator(task, task.suite(), workers=1) as opened:
        found = opened.evaluate(one_file(says(correct=True, combined_score=-2.5, metrics={"length": 2.5})))
        assert (found.correct, found.value) == (True, 2.5)
        assert found.best_known is not None
        assert (found.best_known.value, found.best_known.score) == (3.0, -3.0)
        assert found.beyond == "better than every value listed here: length 2.5, where the best listed is 3 (A. Author)"
        found = opened.evaluate(one_file(says(correct=True, combined_score=-2.5, metrics={"width": 2.5})))
        assert found.outcome is Outcome.INVALID_OUTPUT
        assert "`metrics` have no 'length', which is the task's objective" in found.detail
        assert found.value is None


def test_asked_twice_a_steady_program_agrees_and_what_was_not_asked_is_named(evaluator: ScriptEvaluator) -> None:
    found = evaluator.examine(one_file(GOOD), evaluator.evaluate(one_file(GOOD)))
    assert found.strict is not None
    assert (found.strict.agrees, found.strict.detail) == (True, "")
    assert found.strict.skipped == ("hash seed", "names", "order")
    assert (found.spread, found.answers) == (None, None)


def test_asked_twice_a_random_score_gets_a_spread(evaluator: ScriptEvaluator) -> None:
    source = (
        "import json, random\n"
        "def result():\n"
        "    return json.dumps({'correct': True, 'combined_score': random.random()})\n"
    )
    first = evaluator.evaluate(one_file(source))
    found = evaluator.examine(one_file(source), first)
    assert found.correct
    assert found.combined_score == first.combined_score
    assert found.spread is not None
    assert found.combined_score in found.spread
    assert found.spread[0] < found.spread[1]
    assert found.strict is not None
    assert found.strict.agrees
    assert found.strict.detail.startswith("asked twice, it scored 0.")


def test_correct_once_and_not_again_is_not_correct(evaluator: ScriptEvaluator) -> None:
    source = (
        "import json, os\n"
        "def result():\n"
        "    return json.dumps({'correct': bool(os.urandom(1)[0] & 1), 'combined_score': 1.0})\n"
    )
    seen: set[str] = set()
    for _ in range(40):
        first = evaluator.evaluate(one_file(source))
        if not first.correct:
            continue
        found = evaluator.examine(one_file(source), first)
        assert found.strict is not None
        if found.correct:
            seen.add("agrees")
            continue
        assert found.outcome is Outcome.NONDETERMINISTIC
        assert found.strict.classification is Classification.NONDETERMINISTIC
        assert "asked again, it came to cost 1 and then infeasible" in found.detail
        assert "counts as incorrect" in found.feedback
        seen.add("differs")
        break
    assert "differs" in seen


def test_a_script_gets_the_variables_that_are_named_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "import json, os\n"
        "def result():\n"
        "    names = [name for name in ('GIVEN', 'KEPT') if name in os.environ]\n"
        "    return json.dumps({'correct': True, 'combined_score': 1, 'feedback': ' '.join(names)})\n"
    )
    monkeypatch.setenv("GIVEN", "a-value")
    monkeypatch.setenv("KEPT", "another")
    task = make_task(tmp_path / "mine", environment=["GIVEN"])
    with open_evaluator(task, task.suite(), workers=1) as opened:
        assert opened.evaluate(one_file(source)).feedback == "GIVEN"
    monkeypatch.delenv("GIVEN")
    with pytest.raises(SandboxError, match="needs the environment variable GIVEN, which is not set"):
        open_evaluator(task, task.suite(), workers=1)


def test_an_executable_script_and_helpers_next_to_it_are_run(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine", script="score.sh", program_name="candidate.txt")
    (folder / "evaluate.py").unlink()
    (folder / "helper.txt").write_text("helped")
    (folder / "score.sh").write_text(
        '#!/bin/sh\nhere=$(dirname "$0")\nsaid="$(cat "$here/helper.txt") $1"\n'
        'echo "{\\"correct\\": true, \\"combined_score\\": $(cat "$1"), \\"feedback\\": \\"$said\\"}" > "$2"\n'
    )
    (folder / "score.sh").chmod(0o755)
    task = load_task(str(folder))
    with open_evaluator(task, task.suite(), workers=1) as opened:
        found = opened.evaluate(one_file("7.25\n"))
    assert (found.combined_score, found.feedback) == (7.25, "helped candidate.txt")


def test_nothing_that_a_program_writes_is_there_for_the_next(evaluator: ScriptEvaluator, tmp_path: Path) -> None:
    leave = "open('left.txt', 'w').write('1')"
    look = ("import os", "assert not os.path.exists('left.txt'), 'it was left'")
    assert evaluator.evaluate(one_file(body(leave))).correct
    assert evaluator.evaluate(one_file(body(*look))).correct


def test_cancelling_ends_a_script_that_runs(tmp_path: Path) -> None:
    task = make_task(tmp_path / "mine")
    with open_evaluator(task, task.suite(), workers=1) as opened:
        threading.Timer(1.0, opened.cancel).start()
        with pytest.raises(EvaluationCancelled):
            opened.evaluate(one_file(body("import time", "time.sleep(200)")))
        with pytest.raises(EvaluationCancelled):
            opened.evaluate(one_file(GOOD))


# -- a judge decides ---------------------------------------------------------------------------------------------------

JUDGE = """
from evaluator import Infeasible, InvalidAnswer

INSTANCES = [3, 5]


def judge(instance, answer):
    if type(answer) is not int:
        raise InvalidAnswer("an int")
    if answer > instance:
        raise Infeasible("too large")
    return answer
"""
ANSWERS = """
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
instances = json.load(open(sys.argv[3]))
found = {"answers": [program.answer(n) for n in instances], "feedback": "asked", "private": ["kept"]}
json.dump({**found, "correct": True, "combined_score": 1e9, "metrics": {"m": 1}}, open(sys.argv[2], "w"))
"""


def answer(expression: str) -> str:
    return f"# EVOLVE-BLOCK-START\ndef answer(n):\n    return {expression}\n# EVOLVE-BLOCK-END\n"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptEvaluator]:
    folder = make_folder(tmp_path_factory.mktemp("judged") / "judged", evaluate=ANSWERS, initial=answer("1"))
    (folder / "judge.py").write_text(JUDGE)
    task = load_task(str(folder))
    with ScriptEvaluator(task, task.suite(), workers=2) as opened:
        yield opened


APART = """
import json, os, subprocess, sys

ask = "import importlib, sys; print(importlib.import_module('program').answer(int(sys.argv[1])))"
command = [sys.executable, "-c", ask]
answers = [int(subprocess.check_output([*command, str(n)])) for n in json.load(open(sys.argv[3]))]
with os.fdopen(int(os.environ["EVOLVE_RESULT_FD"]), "w") as file:
    print(json.dumps({"answers": answers}), file=file)
"""
LEAVES_A_PROCESS = """
import os

if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    while True:
        with open(f"new{os.getpid()}", "w") as file:
            file.write('{"answers": [-1, -1], "feedback": "forged"}')
        os.rename(f"new{os.getpid()}", "result.json")
"""


def test_a_process_that_a_program_left_changes_nothing_that_was_handed_over(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "apart", evaluate=APART, initial=answer("1"), limits={**LIMITS, "cpu_total_s": 10})
    (folder / "judge.py").write_text(JUDGE)
    task = load_task(str(folder))
    with open_evaluator(task, task.suite(), workers=1) as opened:
        found = opened.evaluate(one_file(LEAVES_A_PROCESS + answer("n - 1")))
    assert (found.outcome, [result.cost for result in found.results]) == (Outcome.OK, [2, 4])
    assert "forged" not in found.feedback


def test_where_a_judge_decides_the_scripts_own_score_is_not_read(judged: ScriptEvaluator) -> None:
    found = judged.evaluate(one_file(answer("n - 1")))
    assert (found.correct, found.self_judged, found.combined_score, found.value) == (True, False, 3.0, 3.0)
    assert [result.cost for result in found.results] == [2, 4]
    assert "m" not in found.metrics
    assert found.feedback == "All 2 instances succeeded.\n\nasked"
    assert found.private == ["kept"]


def test_an_instance_without_an_answer_or_with_a_wrong_one_fails(judged: ScriptEvaluator) -> None:
    found = judged.evaluate(one_file(answer("None if n == 5 else n")))
    assert [result.outcome for result in found.results] == [Outcome.OK, Outcome.INVALID_OUTPUT]
    assert (found.correct, found.combined_score) == (False, 0.5)
    found = judged.evaluate(one_file(answer("4")))
    assert [result.outcome for result in found.results] == [Outcome.INFEASIBLE, Outcome.OK]
    assert "too large" in found.feedback
    found = judged.evaluate(one_file("raise SystemExit('no')"))
    assert [result.outcome for result in found.results] == [Outcome.EXITED, Outcome.EXITED]
    assert found.combined_score == 0.0


def test_a_judged_answer_that_repeats_is_kept_as_a_certificate(judged: ScriptEvaluator) -> None:
    found = judged.examine(one_file(answer("n")), judged.evaluate(one_file(answer("n"))))
    assert found.correct
    assert found.answers == ("3", "5")


def test_a_judged_answer_that_does_not_repeat_is_not_correct(judged: ScriptEvaluator) -> None:
    source = answer("__import__('random').SystemRandom().randrange(-10**9, 3)")
    found = judged.examine(one_file(source), judged.evaluate(one_file(source)))
    assert (found.correct, found.outcome) == (False, Outcome.NONDETERMINISTIC)


def test_a_judged_answer_that_hangs_on_the_one_before_is_state(judged: ScriptEvaluator) -> None:
    source = "seen = []\n" + answer("seen.append(n) or 1 - len(seen)")
    first = judged.evaluate(one_file(source))
    assert [result.cost for result in first.results] == [0, -1]
    found = judged.examine(one_file(source), first)
    assert found.strict is not None
    assert found.strict.classification is Classification.STATE
    assert found.quarantine == found.detail
    assert "asked in another order, it came to cost 0 and then cost -1 (instance 0): it keeps state" in found.detail


def test_scores_of_two_at_a_time_are_those_of_one(evaluator: ScriptEvaluator) -> None:
    sources = [says(correct=True, combined_score=number) for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(evaluator.evaluate, map(one_file, sources)))
    assert [one.combined_score for one in found] == [float(number) for number in range(8)]


def test_every_record_is_whole(evaluator: ScriptEvaluator) -> None:
    for source in (GOOD, says(correct=False), "raise ValueError"):
        found = evaluator.evaluate(one_file(source))
        assert dataclasses.replace(Evaluation.from_json(found.to_json()), results=()) == dataclasses.replace(
            found, results=()
        )
