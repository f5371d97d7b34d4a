"""The pages in a real browser: every view of every kind of run, under the strict policy, and nothing else asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.cli.main import main
from tests.view.looking import Looked, views_of
from tests.view.serving import serving

pytestmark = pytest.mark.slow

_LAID_OUT = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done({
    page: document.documentElement.scrollWidth, paper: getComputedStyle(document.documentElement).backgroundColor,
}))))"""
RUNS = ("offline", "scripted", "leaked", "hostile", "empty", "begun", "long")


@pytest.fixture(scope="module")
def live(looked_at: Path, chromium: Any) -> Iterator[Looked]:
    with serving(looked_at, "--no-open") as served:
        looked = Looked(chromium, served.address)
        yield looked
        looked.close()


@pytest.fixture(scope="module")
def report(looked_at: Path, chromium: Any) -> Iterator[Looked]:
    file = looked_at / "all.html"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(looked_at)
        # Where tests are handed from worker to worker, a module may come twice.
        assert main(["report", *RUNS, "-o", str(file), "--force"]) == 0
    looked = Looked(chromium, file.as_uri())
    yield looked
    asked = {url.partition("#")[0] for url in looked.asked}
    looked.close()
    assert asked <= {file.as_uri(), "data:,"}


@pytest.fixture(params=["live", "report"])
def looked(request: pytest.FixtureRequest) -> Looked:
    found: Looked = request.getfixturevalue(request.param)
    return found


@pytest.mark.nightly  # `test_view_smoke.py` draws each view once
@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("offline", [0, 1, 50, 100]),
        ("scripted", [0, 5, 8, 17, 19, 21, 30]),
        ("leaked", [1, 2, 3]),
        ("empty", []),
        ("begun", [0]),
        ("long", [0, 59, 60, 2000]),
    ],
)
def test_every_view_of_a_run_is_drawn(looked: Looked, name: str, programs: list[int]) -> None:
    for view in views_of(name, programs):
        text = looked.open(view)
        assert name in text


def test_the_table_of_runs_names_each(looked: Looked) -> None:
    text = looked.open("#/")
    assert all(name in text for name in RUNS)


def test_hostile_text_is_shown_as_text(looked: Looked) -> None:
    scripts = None
    for view in views_of("hostile", [0, 1, 2, 3]):
        text = looked.open(view)
        counted = looked.page.evaluate("document.scripts.length")
        assert scripts in (None, counted)
        scripts = counted
        assert looked.page.locator("main img[onerror], main svg[onload], main a[href^='javascript']").count() == 0
        if "/program/" in view:
            assert "<img src=x onerror=window.broken=1>" in text


@pytest.mark.parametrize("name", RUNS)
def test_no_view_is_wider_than_its_window(report: Looked, name: str) -> None:
    """At 400 and 1,600 pixels, light and dark. Generation 10 of `scripted` has a name of 63 characters."""
    wide = []
    for view in [
        "#/",
        *views_of(name, {"empty": [], "scripted": [0, 10]}.get(name, [0])),
        "#/compare/offline+scripted",
    ]:
        report.open(view)
        for width in (400, 1600):
            report.page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                report.page.emulate_media(color_scheme=scheme)
                found = report.page.evaluate(_LAID_OUT)
                if found["page"] > width or found["paper"] != {"light": "rgb(255, 255, 255)"}.get(
                    scheme, "rgb(20, 23, 26)"
                ):
                    wide.append((view, width, scheme, found))
    report.page.set_viewport_size({"width": 1280, "height": 800})
    assert wide == []


def test_the_tables_of_runs_and_of_generations_are_whole_at_1280(report: Looked) -> None:
    """No column is out of sight, and no head of one is cut."""
    report.page.set_viewport_size({"width": 1280, "height": 800})
    cut = []
    for view in ("#/", *(f"#/run/{name}/generations" for name in RUNS)):
        report.open(view)
        wide = "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent)"
        cut += [(view, box) for box in report.page.locator(".scroller, th button").evaluate_all(wide)]
    assert cut == []


def test_what_changed_is_not_broken_within_its_words_where_there_is_room(report: Looked) -> None:
    report.page.set_viewport_size({"width": 1600, "height": 800})
    report.open("#/run/offline/meta")
    lines = report.page.evaluate(
        "[...document.querySelectorAll('.insights td:first-child code')].map((name) => name.getClientRects().length)"
    )
    report.page.set_viewport_size({"width": 1280, "height": 800})
    assert lines
    assert set(lines) == {1}
