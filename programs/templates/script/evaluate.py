"""Scores one program: `python evaluate.py PROGRAM RESULT.json`. It runs in a sandbox of its own for each program.

The program is loaded into this process and could manipulate what is computed here: the score is self-judged.
If the folder has a judge.py, this file writes {"answers": [...]} instead, and the judge scores them from outside.
"""

import importlib.util
import json
import math
import sys

SHOWN = [i / 50 for i in range(79)]  # 0 to 1.56
HIDDEN = [0.013 + i / 37 for i in range(58)]


def load(path):
    """The program as a module. You can also run it as a command: see `subprocess`."""
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def error(sine, points):
    """The largest error, and where. NaN counts as infinite, since every comparison with NaN is false."""
    errors = [(abs(sine(x) - math.sin(x)), x) for x in points]
    return max((math.inf if math.isnan(off) else off, x) for off, x in errors)


def score(path):
    """The content of RESULT.json; nothing else is read. An exception ends this with status 1; its traceback is shown."""
    sine = load(path).sine
    worst, where = error(sine, SHOWN)
    hidden, _ = error(sine, HIDDEN)
    correct = math.isfinite(worst) and math.isfinite(hidden)
    return {
        "correct": correct,  # must be there
        "combined_score": -math.log10(max(worst, 1e-15)) if correct else 0.0,  # larger is better
        "metrics": {"worst_error": worst} if correct else {},
        "feedback": f"The error is largest at x = {where}.",  # for the author of the next program
        "artifacts": {},  # more texts for the author, by name, such as compiler messages
        "private": {"hidden_error": hidden} if correct else {},  # recorded, and in no prompt
    }


if __name__ == "__main__":
    program, result = sys.argv[1:]
    content = score(program)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(content, file, allow_nan=False)
