"""Programs are measured once, and an audit that was interrupted goes on."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.apps.audit.measuring import AuditedProgram, KeptResults, measure
from tests.builders import one_file

TASK = load_task(Path(__file__).resolve().parents[2] / "data" / "climb")


@pytest.fixture
def evaluator() -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(TASK, TASK.suite(), workers=2) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def program(number: int) -> AuditedProgram:
    return AuditedProgram(files=one_file(f"def guess(n):\n    return n + {number}\n"))


def test_an_interrupted_audit_goes_on_and_one_that_ended_begins_again(evaluator: SandboxedEvaluator) -> None:
    steps = itertools.count(1)

    def interrupt() -> None:
        if next(steps) == 2:
            raise KeyboardInterrupt

    programs = [program(number) for number in range(6)]
    with pytest.raises(KeyboardInterrupt):
        measure(evaluator, programs, KeptResults("a run"), workers=1, step=interrupt)
    kept = KeptResults("a run")
    assert kept.taken_over >= 2
    with SandboxedEvaluator(TASK, TASK.suite(), workers=2) as other:
        results = measure(other, [*programs, programs[0]], kept, workers=2, step=lambda: None)
    assert [result.results[0].cost for result in results[:3]] == [4, Fraction(41, 10), Fraction(21, 5)]
    assert results[6] == results[0]
    assert KeptResults("another run").taken_over == 0
    kept.remove()
    assert KeptResults("a run").taken_over == 0


def test_a_line_that_a_kill_cut_off_is_measured_again(evaluator: SandboxedEvaluator, tmp_path: Path) -> None:
    measure(evaluator, [program(1), program(2)], KeptResults("a run"), workers=1, step=lambda: None)
    (path,) = (tmp_path / "evolve" / "audits").iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    kept = KeptResults("a run")
    assert (kept.taken_over, kept.trouble) == (1, None)
    assert [
        result.correct for result in measure(evaluator, [program(1), program(2)], kept, workers=1, step=lambda: None)
    ] == [
        True,
        True,
    ]


def test_without_a_folder_to_write_to_it_measures_and_says_so(
    evaluator: SandboxedEvaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    kept = KeptResults("a run")
    assert kept.trouble == "Not a directory"
    (result,) = measure(evaluator, [program(3)], kept, workers=1, step=lambda: None)
    assert result.correct
