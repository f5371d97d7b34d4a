"""Scores one program: `python evaluate.py PROGRAM RESULT.json`. It runs in a sandbox of its own for each program.

The program is loaded into this process, so that it could reach into what is computed here: the score is self-judged.
With a judge.py beside it, this file writes {"answers": [...]} instead, and the judge scores them from outside.
"""

import importlib.util
import json
import math
import sys

SHOWN = [i / 50 for i in range(79)]  # 0 to 1.56
HIDDEN = [0.013 + i / 37 for i in range(58)]


def load(path):
    """The program as a module. It may as well be run as a command: see `subprocess`."""
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def error(sine, points):
    """The largest error, and where. NaN would hide behind any number, for it compares with none: infinite here."""
    errors = [(abs(sine(x) - math.sin(x)), x) for x in points]
    return max((math.inf if math.isnan(off) else off, x) for off, x in errors)


def score(path):
    """What RESULT.json says: nothing else is read. An exception ends this with status 1, and its traceback is told."""
    sine = load(path).sine
    worst, where = error(sine, SHOWN)
    hidden, _ = error(sine, HIDDEN)
    correct = math.isfinite(worst) and math.isfinite(hidden)
    return {
        "correct": correct,  # must be there
        "combined_score": -math.log10(max(worst, 1e-15)) if correct else 0.0,  # larger is better
        "metrics": {"worst_error": worst} if correct else {},
        "feedback": f"The error is largest at x = {where}.",  # for whoever writes the next program
        "artifacts": {},  # more texts for them, by name: a compiler's messages, say
        "private": {"hidden_error": hidden} if correct else {},  # recorded, and in no prompt
    }


if __name__ == "__main__":
    program, result = sys.argv[1:]
    found = score(program)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file, allow_nan=False)
