"""Compiles a program and runs it; needs nothing of the other system."""

import argparse
import json
import subprocess
from pathlib import Path

NUMBERS = list(range(1, 11))


def judged(program_path, results_dir):
    built = Path(results_dir) / "program"
    compiled = subprocess.run(["g++", "-O1", "-o", built, program_path], capture_output=True, text=True)
    if compiled.returncode:
        return False, compiled.stderr.splitlines()[0], {"combined_score": 0.0, "text_feedback": compiled.stderr}
    ran = subprocess.run([built], input=" ".join(map(str, NUMBERS)), capture_output=True, text=True, timeout=60)
    if ran.returncode or not ran.stdout.strip().lstrip("-").isdigit():
        return False, f"it ended with status {ran.returncode}", {"combined_score": 0.0}
    distance = abs(int(ran.stdout) - sum(NUMBERS))
    return True, None, {"combined_score": 1 / (1 + distance), "public": {"distance": distance}, "private": {}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path")
    parser.add_argument("--results_dir")
    given = parser.parse_args()
    Path(given.results_dir).mkdir(parents=True, exist_ok=True)
    correct, error, metrics = judged(given.program_path, given.results_dir)
    (Path(given.results_dir) / "correct.json").write_text(json.dumps({"correct": correct, "error": error}))
    (Path(given.results_dir) / "metrics.json").write_text(json.dumps(metrics))
