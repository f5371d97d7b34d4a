"""Uses what the other system offers to evaluators."""

import argparse

import numpy as np
from scoring import WANTED
from shinka.core import run_shinka_eval


def arguments(run):
    return {"noise": 0.1 * run}


def validate(values):
    if not isinstance(values, np.ndarray) or values.shape != (4,):
        return False, "not four values"
    return True, "fine"


def aggregate(results):
    error = max(float(np.abs(values - WANTED).max()) for values in results)
    return {
        "combined_score": -error,
        "public": {"worst": error, "runs": len(results), "kind": "a line", "first": [float(v) for v in results[0]]},
        "private": {"secret": "only for people", "odd": float("nan")},
        "extra_data": {"would be": "pickled"},
        "text_feedback": "the offset matters most",
    }


def main(program_path, results_dir):
    metrics, correct, error = run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="run_experiment",
        num_runs=3,
        get_experiment_kwargs=arguments,
        validate_fn=validate,
        aggregate_metrics_fn=aggregate,
    )
    print("combined_score", metrics["combined_score"], correct, error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", default="initial.py")
    parser.add_argument("--results_dir", default="results")
    parser.add_argument("--level", type=int, required=True)
    given = parser.parse_args()
    assert given.level == 2
    main(given.program_path, given.results_dir)
