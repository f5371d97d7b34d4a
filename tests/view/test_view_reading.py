"""What a newcomer looks for on the pages, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from tests.view.looking import Looked, reported

REFUSAL = "line 4 of the SEARCH lines differs\n--- the SEARCH lines\n+++ the program\n-    NOISE = 1.76\n+    NOISE = 2"


@pytest.fixture
def page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs: Any, make_evaluation: Any
) -> Any:
    """A report of two runs whose names differ at their ends, each with an answer that was refused."""
    runs = {}
    for name in ("colours-default-20261122-221455", "colours-default-20261122-221732"):
        runs[name] = run = recorded_runs(name)
        initial = run.initial()
        run.propose(1, [initial], source="b = 1\n", evaluation=make_evaluation(score=24.0), description="a kick helps")
        run.ask(2, [initial], answer="none")
        run.archive.refused(2, 0, reason="no_match", message=REFUSAL, final=True)
    looked = Looked(chromium, reported(runs, tmp_path, monkeypatch).as_uri())
    yield looked
    looked.close()


def test_runs_whose_names_differ_at_the_end_are_distinguished_in_the_table(page: Looked) -> None:
    page.open("#/")
    heads = page.page.locator("th").all_inner_texts()
    assert [head.strip() for head in heads[1:3]] == ["run", "state"]
    seen = "(cells) => cells.map((cell) => cell.lastChild.textContent)"
    assert sorted(page.page.locator("a.run-link").evaluate_all(seen)) == ["122-221455", "122-221732"]
    cells = page.page.locator("tbody tr").first.locator("td").all_inner_texts()
    assert (cells[2], cells[-1]) == ("finished", "just now")


def test_the_best_programs_code_is_one_click_from_the_first_screen(page: Looked) -> None:
    page.open("#/run/colours-default-20261122-221455")
    page.page.locator(".tile").get_by_text("code").click()
    page.page.locator(".program-part pre.code").wait_for()
    assert "b = 1" in page.page.locator(".program-part pre.code").inner_text()


def test_the_tree_of_a_short_run_is_all_open(page: Looked) -> None:
    page.open("#/run/colours-default-20261122-221455/tree")
    assert page.page.locator("a.tree-node").count() == 3
    assert page.page.locator(".stub").count() == 0


def test_the_words_of_a_refusal_keep_their_lines(page: Looked) -> None:
    page.open("#/run/colours-default-20261122-221455/program/2?show=attempts")
    assert page.page.locator(".program-part pre.bad-quiet").inner_text() == REFUSAL


def test_each_row_of_generations_says_what_it_was_for_or_why_it_failed(page: Looked) -> None:
    page.open("#/run/colours-default-20261122-221455/generations")
    heads = [head.strip() for head in page.page.locator("th").all_inner_texts()]
    at = heads.index("what for, or what failed")
    rows = page.page.locator("tbody tr")
    cells = [rows.nth(row).locator("td").nth(at).inner_text() for row in (1, 2)]
    assert cells == ["a kick helps", "no_match: line 4 of the SEARCH lines differs"]


def test_the_curve_says_what_its_axis_counts(page: Looked) -> None:
    page.open("#/run/colours-default-20261122-221455")
    assert "proposals that have ended" in page.page.locator("svg.curve").text_content()


def test_a_table_that_is_wider_than_the_window_has_a_shadow_at_its_edge(page: Looked) -> None:
    page.page.set_viewport_size({"width": 400, "height": 800})
    page.open("#/run/colours-default-20261122-221455/failures")
    wide = "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth)"
    shadows = page.page.locator(".sideways").evaluate_all(
        f"(all) => ({wide})(all).map((box) => getComputedStyle(box).backgroundAttachment)"
    )
    assert shadows and set(shadows) == {"local, local, scroll, scroll"}
