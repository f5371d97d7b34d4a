"""What others' evaluators return, write and raise, as the generated `evaluate.py` hands it on: run as it is run."""

import json
import math
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.places import TEMPLATES
from evaluator.script_result import read_result

DATA = Path(__file__).parents[2] / "data"
LETTERS = st.text(st.characters(exclude_categories=[]), max_size=8)

Scored = Callable[..., dict[str, Any]]


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    """Score a program with an evaluator, both given as text, through the script of a system."""

    def score(
        program: str, evaluator: str, *, system: str = "openevolve", constants: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        folder = tmp_path / "task"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(TEMPLATES / system, folder)
        (folder / "theirs").mkdir()
        (folder / "theirs" / ("evaluator.py" if system == "openevolve" else "evaluate.py")).write_text(evaluator)
        script = (folder / "evaluate.py").read_text()
        for name, value in (constants or {}).items():
            script = script.replace("\nHERE = ", f"\n{name} = {value!r}\nHERE = ")
        (folder / "evaluate.py").write_text(script)
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "result.json").unlink(missing_ok=True)
        ran = run(folder, tmp_path / "program.py", tmp_path / "result.json")
        assert ran.returncode == 0, ran.stderr
        raw = (tmp_path / "result.json").read_bytes()
        read_result(raw)  # as the harness reads it
        return json.loads(raw)  # type: ignore[no-any-return]

    return score


def run(folder: Path, program: Path, result: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "evaluate.py", program, result]
    with tempfile.TemporaryDirectory() as scratch:
        here = {**os.environ, "TMPDIR": scratch}
        return subprocess.run(command, capture_output=True, text=True, cwd=result.parent, env=here, check=False)


def returning(text: str) -> str:
    numpy = "import numpy as np\n" if "np." in text else ""
    return f"import math\n{numpy}\ndef evaluate(program_path):\n    return {text}\n"


@pytest.mark.parametrize(
    ("returned", "score"),
    [
        ("{'combined_score': 2, 'other': 40}", 2.0),
        ("{'combined_score': np.float32(0.5)}", 0.5),
        ("{'combined_score': np.int64(-3), 'done': True}", -3.0),
        ("{'a': 1.0, 'b': 3.0}", 2.0),
        ("{'a': 1.0, 'b': 3.0, 'passed': True, 'words': 'text', 'nothing': None}", 2.0),
        ("{'a': 1.0, 'complexity': 900, 'diversity': 5}", 1.0),
        ("{'complexity': 4}", 4.0),
        ("{'a': 1.0, 'error': 0.5}", 0.75),
        ("{'combined_score': 0.25, 'error': 'one case of four is wrong'}", 0.25),
        ("{'combined_score': 1.0, 'other': math.nan}", 1.0),
    ],
)
def test_the_score_is_combined_score_or_the_mean_of_the_numbers(scored: Scored, returned: str, score: float) -> None:
    found = scored("", returning(returned))
    assert (found["correct"], found["combined_score"]) == (True, score)
    assert all(type(value) is float and math.isfinite(value) for value in found["metrics"].values())


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("{'combined_score': math.nan}", "combined_score is NaN, which is no finite number"),
        ("{'combined_score': math.inf, 'other': 1.0}", "combined_score is Infinity"),
        ("{'combined_score': -10**400}", "no finite number"),
        ("{'combined_score': None, 'other': 1.0}", "combined_score is null"),
        ("{'combined_score': True}", "combined_score is true"),
        ("{'combined_score': 'high'}", "combined_score is high"),
        ("{'combined_score': [1.0, 2.0]}", "no finite number"),
        ("{'a': 1.0, 'b': math.nan}", "the metric b is nan"),
        ("{'a': 1.0, 'b': np.float64('-inf')}", "the metric b is -inf"),
        ("{'passed': True}", "returned no number"),
        ("{}", "returned no number"),
        ("None", "returned NoneType"),
        ("0.5", "returned float"),
        ("{'error': 0.0}", "reports an error, and no metric"),
        ("{'error': 0.0, 'timeout': True}", "reports an error, and no metric"),
        ("{'combined_score': 0.0, 'error': 'it does not load'}", "it failed\nerror: it does not load"),
        ("{'a': 0.0, 'error': 'it does not load'}", "it failed"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("exit(3)", "SystemExit: 3"),
    ],
)
def test_what_is_no_score_is_refused_with_the_reason(scored: Scored, returned: str, why: str) -> None:
    found = scored("", returning(returned))
    assert found["correct"] is False
    assert why in found["feedback"]


def test_artifacts_are_texts_and_what_a_metric_may_not_be_is_shown(scored: Scored) -> None:
    evaluator = (
        "from openevolve.evaluation_result import EvaluationResult\n"
        "def evaluate(path):\n"
        "    return EvaluationResult(\n"
        "        metrics={'combined_score': 1.0, 'success_rate': 0.5, 'kind': 'a line', 'fine': False},\n"
        "        artifacts={'log': 'said', 'utf': 'é'.encode(), 'raw': bytes([255, 0]), 'data': {'n': [1]}, 'n': 3},\n"
        "    )\n"
    )
    found = scored("", evaluator)
    assert found["artifacts"] == {
        "log": "said",
        "utf": "é",
        "raw": "2 bytes that are no text",
        "data": '{"n": [1]}',
        "n": "3",
    }
    assert found["metrics"] == {"evaluator_success_rate": 0.5}
    assert found["feedback"] == "kind: a line\nfine: false"


STAGES = """
def evaluate(path):
    return {"combined_score": 99.0}

def evaluate_stage1(path):
    exec(open(path).read(), said := {})
    return said["FIRST"]

def evaluate_stage2(path):
    exec(open(path).read(), said := {})
    return said["SECOND"]() if callable(said["SECOND"]) else said["SECOND"]

def evaluate_stage3(path):
    exec(open(path).read(), said := {})
    return {"combined_score": said["THIRD"], "third": 3.0}
"""


@pytest.mark.parametrize(
    ("program", "score", "metrics"),
    [
        ("FIRST = {'combined_score': 0.4, 'first': 1}", 0.4, {"first": 1.0}),
        ("FIRST = {'a': 0.4, 'b': 0.5, 'error': 9.0}", 3.3, {"a": 0.4, "b": 0.5, "error": 9.0}),
        (
            "FIRST = {'a': 0.5, 'error': 0.0}; SECOND = {'b': 0.7, 'error': 1.0}",
            0.6,
            {"a": 0.5, "b": 0.7},
        ),
        ("FIRST = {'a': 1}; SECOND = {'combined_score': 0.7, 'b': 2}", 0.7, {"a": 1.0, "b": 2.0}),
        ("FIRST = {'a': 1}; SECOND = {'combined_score': 0.75}; THIRD = 0.1", 0.1, {"a": 1.0, "third": 3.0}),
    ],
)
def test_a_cascade_ends_where_a_threshold_is_missed(
    scored: Scored, program: str, score: float, metrics: dict[str, float]
) -> None:
    found = scored(program, STAGES)
    assert found["correct"] is True
    assert found["combined_score"] == pytest.approx(score, abs=1e-12)
    assert found["metrics"] == metrics


def test_a_stage_that_raises_is_a_failure_with_what_was_measured_before(scored: Scored) -> None:
    found = scored("FIRST = {'combined_score': 1.0, 'a': 1}\ndef SECOND():\n    return {}['x']", STAGES)
    assert found["correct"] is False
    assert found["feedback"] == "stage 2: KeyError: 'x'"
    assert found["metrics"] == {"a": 1.0, "stage2_passed": 0.0}
    assert "SECOND" in found["artifacts"]["stage2_traceback"]


def test_a_cascade_may_be_switched_off_and_arguments_are_handed_on(scored: Scored) -> None:
    assert scored("", STAGES, constants={"CASCADE": False})["combined_score"] == 99.0
    evaluator = "def evaluate(path, *, factor):\n    return {'combined_score': factor}\n"
    assert scored("", evaluator, constants={"ARGUMENTS": {"factor": 4.5}})["combined_score"] == 4.5
    assert scored("FIRST = {'combined_score': 0.1}", STAGES, constants={"THRESHOLDS": []})["combined_score"] == 0.1


def test_an_evaluator_that_cannot_be_loaded_is_no_verdict_on_a_program(tmp_path: Path) -> None:
    for content, why in (
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("raise SystemExit('no key')", "SystemExit: no key"),
        ("def other(path): pass", "has no function evaluate(program_path)"),
    ):
        folder = tmp_path / "task"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(TEMPLATES / "openevolve", folder)
        (folder / "theirs").mkdir()
        (folder / "theirs" / "evaluator.py").write_text(content)
        (tmp_path / "program.py").write_text("")
        ran = run(folder, tmp_path / "program.py", tmp_path / "result.json")
        assert ran.returncode == 1
        assert f"theirs/evaluator.py {'' if 'other' in content else 'cannot be loaded: '}{why}" in ran.stderr
        assert not (tmp_path / "result.json").exists()


def test_a_thread_that_a_program_leaves_running_is_not_waited_for(scored: Scored) -> None:
    evaluator = "import runpy\ndef evaluate(path):\n    return runpy.run_path(path)['RESULT']\n"
    program = "import threading, time\nthreading.Thread(target=lambda: time.sleep(3600)).start()\nRESULT = {'a': 1.0}\n"
    assert scored(program, evaluator)["combined_score"] == 1.0


def test_an_evaluator_finds_its_files_where_it_is_run_and_leaves_none_there(scored: Scored, tmp_path: Path) -> None:
    evaluator = (
        "import pathlib, shutil\n"
        "def evaluate(path):\n"
        "    pathlib.Path('made.txt').write_text(pathlib.Path('evaluator.py').read_text())\n"
        "    return {'a': float(shutil.which('python') is not None and pathlib.Path(path).is_absolute())}\n"
    )
    assert scored("", evaluator)["combined_score"] == 1.0
    assert {path.name for path in tmp_path.iterdir()} == {"task", "program.py", "result.json"}
    assert {path.name for path in (tmp_path / "task" / "theirs").iterdir()} - {"__pycache__"} == {"evaluator.py"}


def test_a_package_that_is_installed_is_preferred_to_the_stand_in(scored: Scored) -> None:
    """What stands on the path before the stand-ins takes their place."""
    evaluator = (
        "import sys, types\n"
        "assert [p for p in sys.path if p.endswith('stand_ins')] == sys.path[-1:]\n"
        "import openevolve\n"
        "def evaluate(path):\n    return {'a': float('stand_ins' in openevolve.__file__)}\n"
    )
    assert scored("", evaluator)["combined_score"] == 1.0


# -- ShinkaEvolve ------------------------------------------------------------------------------------------------------


def writing(correct: str | None, metrics: str | None, then: str = "") -> str:
    lines = ["import sys, pathlib", "folder = pathlib.Path(sys.argv[sys.argv.index('--results_dir') + 1])"]
    for name, text in (("correct", correct), ("metrics", metrics)):
        lines += [] if text is None else [f"(folder / '{name}.json').write_text({text!r})"]
    return "\n".join([*lines, then])


def test_what_is_written_there_is_handed_on(scored: Scored) -> None:
    metrics = {
        "combined_score": 1.5,
        "public": {"length": 3, "success_rate": 0.5, "fine": True, "words": ["a", "b"]},
        "private": {"seeds": [1, 2]},
        "text_feedback": "shorter, please",
        "execution_time_mean": 0.001,
    }
    found = scored("", writing('{"correct": true, "error": null}', json.dumps(metrics)), system="shinka")
    assert found == {
        "correct": True,
        "combined_score": 1.5,
        "metrics": {"length": 3, "evaluator_success_rate": 0.5},
        "private": {"seeds": [1, 2]},
        "feedback": 'shorter, please\nfine: true\nwords: ["a", "b"]',
        "artifacts": {},
    }


@pytest.mark.parametrize(
    ("correct", "metrics", "why"),
    [
        (None, None, "wrote no correct.json"),
        ('{"correct": true}', None, "wrote no metrics.json"),
        ('{"correct": 1}', "{}", "`correct` is 1, neither true nor false"),
        ('{"correct": true}', "{}", "metrics.json has no combined_score"),
        ('{"correct": true}', '{"combined_score": NaN}', "combined_score is NaN, no finite number"),
        ('{"correct": true}', '{"combined_score": 1e999}', "combined_score is 1e999, no finite number"),
        ('{"correct": true}', '{"combined_score": true}', "combined_score is true, no finite number"),
        ('{"correct": true}', '{"combined_score": 1, "public": [1]}', "`public` is no object"),
        ('{"correct": true}', '{"combined_score": 1', "metrics.json cannot be read: JSONDecodeError"),
        ('{"correct": true}', "[1]", "metrics.json is no object"),
        ('{"correct": false, "error": "two circles touch"}', '{"combined_score": 9}', "two circles touch"),
        ('{"correct": false, "error": null}', "{}", "the program is not correct"),
    ],
)
def test_what_is_not_written_there_is_refused(
    scored: Scored, correct: str | None, metrics: str | None, why: str
) -> None:
    found = scored("", writing(correct, metrics), system="shinka")
    assert found["correct"] is False
    assert why in found["feedback"]


def test_an_evaluator_that_raises_is_a_failure_unless_it_wrote_its_outcome(scored: Scored) -> None:
    found = scored("", writing(None, None, "{}['gone']"), system="shinka")
    assert (found["correct"], found["feedback"]) == (False, "theirs/evaluate.py raised KeyError: 'gone'")
    assert "gone" in found["artifacts"]["traceback"]
    found = scored("", writing('{"correct": true}', '{"combined_score": 2}', "sys.exit(4)"), system="shinka")
    assert (found["correct"], found["combined_score"]) == (True, 2)
    assert found["feedback"] == "theirs/evaluate.py raised SystemExit: 4"
    assert (
        scored("", writing('{"correct": true}', '{"combined_score": 2}', "sys.exit(0)"), system="shinka")["feedback"]
        == ""
    )


def test_no_pickle_is_loaded_and_no_link_followed(scored: Scored, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"combined_score": 5}')
    then = (
        f"(folder / 'metrics.json').symlink_to({str(tmp_path / 'secret.json')!r})\n"
        "(folder / 'extra.pkl').write_bytes(b'cos\\nsystem\\n(S\"touch loaded\"\\ntR.')"
    )
    found = scored("", writing('{"correct": true}', None, then), system="shinka")
    assert "wrote no metrics.json" in found["feedback"]


# -- whatever it is ----------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | LETTERS | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["combined_score", "error", "a", "b", "success_rate"]) | LETTERS


@given(metrics=st.dictionaries(NAMES, VALUES, max_size=5), artifacts=st.dictionaries(NAMES, VALUES, max_size=3))
def test_whatever_an_evaluator_returns_is_a_result_that_can_be_read(
    metrics: dict[str, Any], artifacts: dict[str, Any]
) -> None:
    script = runpy.run_path(str(TEMPLATES / "openevolve" / "evaluate.py"))

    class Evaluator:
        @staticmethod
        def evaluate(path: str) -> object:
            return type("Result", (), {"metrics": metrics, "artifacts": artifacts})()

    found = script["evaluated"](Evaluator, "program.py")
    read = read_result(json.dumps(found, allow_nan=False).encode())
    numbers = [value for name, value in metrics.items() if type(value) in (int, float) and name != "combined_score"]
    if read.correct and "combined_score" in metrics:
        assert read.score == float(metrics["combined_score"])
    elif read.correct:
        assert read.score is not None
        assert min(numbers) - abs(min(numbers)) * 1e-9 <= read.score <= max(numbers) + abs(max(numbers)) * 1e-9


@given(correct=VALUES, metrics=st.dictionaries(NAMES | st.sampled_from(["public", "private", "text_feedback"]), VALUES))
def test_whatever_an_evaluator_writes_is_a_result_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, correct: Any, metrics: dict[str, Any]
) -> None:
    script = runpy.run_path(str(TEMPLATES / "shinka" / "evaluate.py"))
    folder = tmp_path_factory.mktemp("results")
    for name, content in (("correct", {"correct": correct, "error": None}), ("metrics", metrics)):
        (folder / f"{name}.json").write_text(json.dumps(content, default=repr))
    try:
        found = script["read"](folder)
    except script["Refused"]:
        return
    assert read_result(json.dumps(found, allow_nan=False).encode()).correct <= (correct is True)
