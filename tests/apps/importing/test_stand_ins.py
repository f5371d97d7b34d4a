"""The stand-ins keep what evaluators rely on: the classes and functions of the other systems, called as there."""

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evaluator.places import TEMPLATES


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """A module of a stand-in, named `system:module`."""
    system, module = request.param.split(":")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(TEMPLATES / system / "stand_ins"))
    yield importlib.import_module(module)
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("openevolve", "shinka"):
            del sys.modules[name]


RESULTS = pytest.mark.parametrize("stand_in", ["openevolve:openevolve.evaluation_result"], indirect=True)
EVAL = pytest.mark.parametrize("stand_in", ["shinka:shinka.core"], indirect=True)


@RESULTS
def test_a_result_has_metrics_and_artifacts(stand_in: ModuleType) -> None:
    plain = stand_in.EvaluationResult.from_dict({"a": 1.0})
    assert (plain.to_dict(), plain.artifacts, plain.has_artifacts()) == ({"a": 1.0}, {}, False)
    result = stand_in.EvaluationResult({"a": 1.0}, {"text": "é", "raw": b"\xff\x00\x01", "number": 12})
    assert result.has_artifacts()
    assert result.get_artifact_keys() == ["text", "raw", "number"]
    assert [result.get_artifact_size(key) for key in ("text", "raw", "number", "none")] == [2, 3, 2, 0]
    assert result.get_total_artifact_size() == 7
    assert result == stand_in.EvaluationResult(metrics={"a": 1.0}, artifacts=dict(result.artifacts))
    assert plain.artifacts is not stand_in.EvaluationResult({}).artifacts


def evaluated(stand_in: ModuleType, tmp_path: Path, program: str, **options: Any) -> tuple[dict[str, Any], bool, Any]:
    """What a program comes to; both files say the same as what is returned."""
    (tmp_path / "program.py").write_text(program)
    found = stand_in.run_shinka_eval(
        str(tmp_path / "program.py"), str(tmp_path / "made" / "results"), "run", options.pop("num_runs", 2), **options
    )
    metrics, correct, error = found
    assert json.dumps(json.loads((tmp_path / "made" / "results" / "metrics.json").read_text())) == json.dumps(metrics)
    assert json.loads((tmp_path / "made" / "results" / "correct.json").read_text()) == {
        "correct": correct,
        "error": error,
    }
    return metrics, correct, error


@EVAL
def test_each_run_gets_its_arguments(stand_in: ModuleType, tmp_path: Path) -> None:
    program = "def run(**given):\n    return sorted(given.items())\n"
    seen: list[Any] = []

    def aggregate(results: list[Any]) -> dict[str, Any]:
        seen.extend(results)
        return {"combined_score": 1.0}

    evaluated(stand_in, tmp_path, program, aggregate_metrics_fn=aggregate)
    assert seen == [[("seed", 1)], [("seed", 2)]]
    seen.clear()
    arguments = lambda run: {"n": run * 10}  # noqa: E731
    evaluated(stand_in, tmp_path, program, aggregate_metrics_fn=aggregate, get_experiment_kwargs=arguments, num_runs=3)
    assert seen == [[("n", 0)], [("n", 10)], [("n", 20)]]


@EVAL
def test_one_run_that_is_not_valid_makes_the_program_incorrect_and_all_are_aggregated(
    stand_in: ModuleType, tmp_path: Path
) -> None:
    metrics, correct, error = evaluated(
        stand_in,
        tmp_path,
        "def run(seed):\n    return seed\n",
        num_runs=4,
        validate_fn=lambda value: (value % 2 == 1, "fine" if value % 2 else "is even"),
        aggregate_metrics_fn=lambda values: {"combined_score": sum(values), "public": {"n": 4}, "extra_data": object()},
    )
    assert (correct, error) == (False, "Validation failed: is even")
    assert (metrics["combined_score"], metrics["public"]) == (10, {"n": 4})
    assert (metrics["num_valid_runs"], metrics["num_invalid_runs"]) == (2, 2)
    assert metrics["all_validation_errors"] == ["is even"]
    assert "extra_data" not in metrics
    assert not list(tmp_path.rglob("*.pkl"))


@EVAL
@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("def other(seed): return 1", "defines no run"),
        ("def run(seed): return 1 / 0", "division by zero"),
        ("def run(wrong): return 1", "unexpected keyword argument"),
        ("def run(seed:", "was never closed"),
        ("import no_such_module", "No module named"),
    ],
)
def test_what_a_program_raises_makes_it_incorrect(
    stand_in: ModuleType, tmp_path: Path, program: str, error: str
) -> None:
    metrics, correct, shown = evaluated(stand_in, tmp_path, program)
    assert correct is False
    assert error in shown
    assert metrics["combined_score"] == 0.0
    metrics, _, _ = evaluated(stand_in, tmp_path, program, default_metrics_on_error={"combined_score": -7.0, "x": 1})
    assert metrics["combined_score"] == -7.0
    assert "x" not in metrics


@EVAL
@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_not_correct(stand_in: ModuleType, tmp_path: Path, score: float) -> None:
    aggregate = lambda values: {"combined_score": score}  # noqa: E731
    _, correct, error = evaluated(stand_in, tmp_path, "def run(seed): return 1", aggregate_metrics_fn=aggregate)
    assert (correct, error) == (False, f"combined_score is {score}")


@EVAL
def test_every_run_is_made_whatever_saves_time_there(stand_in: ModuleType, tmp_path: Path) -> None:
    metrics, correct, _ = evaluated(
        stand_in,
        tmp_path,
        "def run(seed): return seed",
        num_runs=5,
        early_stop_method="bayesian",
        early_stop_threshold=1.0,
        run_workers=4,
        plotting_fn=lambda data: 1 / 0,
    )
    assert correct
    assert metrics["num_successful_runs"] == 5
