"""The page of runs side by side says what the terminal says of them, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from evolve.cli.main import main
from tests.view.looking import Looked, reported

SPENT = {"short": 1, "long": 4}
SHORT = "1 proposal: short is better than long in 25 of 25 pairs; exact test p = 0.0079: settled."
SMALLER = "0.2500 USD: short and long are equal in 25 of 25 pairs; exact test p = 1: not settled."
LONG = "at the end: long is better than short in 25 of 25 pairs; exact test p = 0.0079: settled."


def _values(run: Any, make_evaluation: Any, scores: list[float]) -> Any:
    initial = run.initial()
    for number, score in enumerate(scores, 1):
        run.propose(number, [initial], source=f"b = {number}\n", evaluation=make_evaluation(score=score))
    return run


def test_tests_at_equal_budgets_and_at_the_end_are_distinguished_in_the_words_of_the_terminal(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chromium: Any,
    recorded_runs,
    make_evaluation,
) -> None:
    """Of two configurations the one is better at what both spent, and the other in the end, gone on for longer."""
    runs = {}
    for seed in range(5):
        of = {name: recorded_runs(name, config=f"generations: {n}\n", seed=seed) for name, n in SPENT.items()}
        runs[f"short-s{seed}"] = _values(of["short"], make_evaluation, [22.0 + seed / 10])
        runs[f"long-s{seed}"] = _values(of["long"], make_evaluation, [21.0, 21.1, 21.2, 24.0 + seed / 10])
    names = sorted(runs, reverse=True)
    file = reported({name: runs[name] for name in names}, tmp_path, monkeypatch)
    capsys.readouterr()
    assert main(["compare", *names]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if ": settled." in line]
    assert shown[0] == SHORT and shown[-1] == LONG
    looked = Looked(chromium, f"file://{file}")
    page = looked.open(f"#/compare/{'+'.join(names)}")
    assert [line for line in page.splitlines() if ": settled." in line] == shown
    assert SMALLER not in page
    looked.page.get_by_text("at smaller budgets").click()
    assert SMALLER in looked.page.inner_text("main")
    looked.close()
