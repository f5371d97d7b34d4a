"""Calls a function of a program several times, validates what it returns, and writes the result."""

import importlib.util
import json
import math
import statistics
import time
from pathlib import Path

ON_ERROR = {
    "combined_score": 0.0,
    "execution_time_mean": 0.0,
    "execution_time_std": 0.0,
    "num_successful_runs": 0,
    "num_valid_runs": 0,
    "num_invalid_runs": 0,
    "all_validation_errors": [],
}


def load_program(program_path):
    """A program as a module."""
    spec = importlib.util.spec_from_file_location("program", program_path)
    if spec is None:
        raise ImportError(f"{program_path} is no Python program")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_json_results(results_dir, metrics, correct, error=None):
    """Write `correct.json` and `metrics.json`."""
    folder = Path(results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("metrics", metrics), ("correct", {"correct": correct, "error": error})):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")


def run_shinka_eval(
    program_path,
    results_dir,
    experiment_fn_name,
    num_runs,
    get_experiment_kwargs=None,
    aggregate_metrics_fn=None,
    validate_fn=None,
    plotting_fn=None,
    default_metrics_on_error=None,
    early_stop_method=None,
    early_stop_threshold=None,
    early_stop_score_fn=None,
    early_stop_kwargs=None,
    run_workers=1,
    max_workers_cap=None,
):
    """Metrics, whether all was valid, and the first error (None without one); also written into `results_dir`.

    `get_experiment_kwargs(run)` gives the arguments of a run, counted from 0 (without it: seed=run + 1);
    `validate_fn(result)` gives (valid, message); `aggregate_metrics_fn(results)` makes the metrics of all results, also
    where one of them is not valid. What the program or one of these raises makes the program incorrect.

    Every run is made, one after the other, whatever `early_stop_method` and `run_workers` say: they save time and are not
    part of the question. Nothing is plotted, and `extra_data` is dropped: it would only be pickled.
    """
    results, times, errors, valid, first = [], [], [], 0, None
    if early_stop_method is not None:
        print("stand-in for shinka: there is no stop early, every run is made")
    try:
        experiment = getattr(load_program(program_path), experiment_fn_name, None)
        if experiment is None:
            raise AttributeError(f"the program defines no {experiment_fn_name}")
        for run in range(num_runs):
            arguments = get_experiment_kwargs(run) if get_experiment_kwargs else {"seed": run + 1}
            began = time.perf_counter()
            results.append(experiment(**arguments))
            times.append(time.perf_counter() - began)
            good, message = validate_fn(results[-1]) if validate_fn else (True, None)
            valid += bool(good)
            if not good and message and message not in errors:
                errors.append(message)
        correct = valid == num_runs
        first = f"Validation failed: {errors[0]}" if errors else None
        metrics = aggregate_metrics_fn(results) if aggregate_metrics_fn else {"num_successful_runs": len(results)}
        metrics["execution_time_mean"] = statistics.fmean(times) if times else 0.0
        metrics["execution_time_std"] = statistics.pstdev(times) if times else 0.0
        if validate_fn:
            metrics |= {"num_valid_runs": valid, "num_invalid_runs": num_runs - valid, "all_validation_errors": errors}
        if not math.isfinite(metrics.get("combined_score", 0.0)):
            correct, first = False, first or f"combined_score is {metrics['combined_score']}"
    except Exception as error:  # an evaluation that raises has results, too: not correct, and why
        print(f"the evaluation failed: {type(error).__name__}: {error}")
        correct, first = False, str(error) or type(error).__name__
        metrics = {name: (default_metrics_on_error or {}).get(name, value) for name, value in ON_ERROR.items()}
    metrics.pop("extra_data", None)
    save_json_results(results_dir, metrics, correct, first)
    return metrics, correct, first
