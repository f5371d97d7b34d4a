"""Without combined_score: the mean of what there is."""

import runpy


def evaluate(program_path):
    left, right = runpy.run_path(program_path)["pair"]()
    if left == 0:
        return {"error": 0.0}
    if left < 0:
        return {"closeness": 0.0, "error": "left is below 0"}
    return {"closeness": 1 / (1 + abs(left - 2.5)), "balance": 1 / (1 + abs(right - 1)), "ordered": left < right}
