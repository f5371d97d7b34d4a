"""Reports whose names and values are as odd as floats and folders allow, in a real browser: no page hangs or breaks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.view.looking import reported, texts_of

LONG_NAME = "n" * 150


@pytest.mark.parametrize(
    "values",
    [(1e17, 1e17 + 16), (-1e100, 1e100), (0.0, 5e-324), (1.0, 1.0 + 2**-52), (7.0, 7.0)],
    ids=str,
)
def test_values_that_floats_hardly_tell_apart_or_hold_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation, values
) -> None:
    runs = {}
    for name in ("one", "two"):
        runs[name] = run = recorded_runs(name)
        low, high = (replace(make_evaluation(score=value), ceiling=None, published_score=None) for value in values)
        run.propose(1, [run.initial(evaluation=low)], source="b = 1\n", evaluation=high)
    file = reported(runs, tmp_path, monkeypatch)
    texts_of(chromium, file, ["", "run/one", "run/one?up=gap", "compare/one+two"])


def test_a_run_with_a_long_name_is_shown_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("named")
    best = run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    why = "what it gains is on the suite alone: " + "x" * 150
    run.archive.held_out(best.generation, make_evaluation(score=1.0), overfitted=why)
    file = reported({LONG_NAME: run}, tmp_path, monkeypatch)
    shown = texts_of(chromium, file, ["", f"run/{LONG_NAME}", f"run/{LONG_NAME}/program/1"])
    assert all(LONG_NAME[:60] in text for text in shown)
    assert "x" * 100 in shown[1]
    assert not any("[object" in text for text in shown)
