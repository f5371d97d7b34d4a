"""In stages: does it run, is it near, is it near everywhere."""

import importlib.util
from pathlib import Path

import numpy as np
from openevolve.evaluation_result import EvaluationResult
from shapes.targets import nearness

POINTS = np.loadtxt(Path(__file__).parent / "points.csv", delimiter=",")


def _weights(program_path, n):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return np.asarray(program.weights(n))


def evaluate_stage1(program_path):
    found = _weights(program_path, 2)
    return EvaluationResult(metrics={"runs": float(found.shape == (2,)), "stage": 1}, artifacts={"first": str(found[0])})


def evaluate_stage2(program_path):
    found = _weights(program_path, len(POINTS))
    near = nearness(found, POINTS[:, 0])
    artifacts = {"worst": f"point {int(np.abs(found - POINTS[:, 0]).argmax())}", "log": b"a log\n", "raw": b"\xff\xfe\x00"}
    return EvaluationResult(metrics={"combined_score": near, "stage": 2, "is_near": near > 0.5}, artifacts=artifacts)


def evaluate_stage3(program_path):
    return {"combined_score": np.float64(nearness(_weights(program_path, len(POINTS)), POINTS[:, 1])), "stage": 3}


def evaluate(program_path):
    result = evaluate_stage2(program_path)
    assert result.has_artifacts()
    return result
