"""Pages that are open while a run goes on: each shows what a page that is opened afterwards shows."""

import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.archive import Archive
from evolve.archive.events import FreshEvent, FreshState
from evolve.core.completion import CallEvent, CallPhase, PatchKey
from evolve.view.listening import background_page
from tests.builders import make_question
from tests.reports import citing
from tests.view.looking import Looked, views_of
from tests.view.serving import PATIENCE_S, serving

_PAINTED = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
)
_TEXT = """(without) => {
    const left = [...document.querySelectorAll(without)];
    left.forEach((node) => node.style.setProperty("display", "none"));
    const text = document.body.innerText;
    left.forEach((node) => node.style.removeProperty("display"));
    return text;
}"""
_HIDDEN = """(hidden) => {
    Object.defineProperty(document, "hidden", {get: () => hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
_TAKES_NO_TIME = "performance.now = () => 0"
"""A page asks again after twenty times as long as the last answer took: here, after the least time on any machine."""
_ONE_EVENT_AT_FIRST = """
const later = new Promise((done) => (window.letThrough = done));
window.EventSource = class extends EventSource {
    set onmessage(listener) {
        let count = 0;
        super.onmessage = async (message) => {
            if (count++) await later;
            listener(message);
        };
    }
};
"""
_HELD_ANSWERS = """
window.held = [];
const real = window.fetch;
window.fetch = (path, options) => {
    const answer = real(path, options);
    if (!window.holds || !path.endsWith(window.holds)) return answer;
    return new Promise((done) => held.push([answer, () => done(answer)]));
};
"""
_NEWEST_FIRST = f"""async () => {{
    window.holds = null;
    for (const [answer, release] of held.reverse()) {{
        await answer;
        release();
        await ({_PAINTED})();
    }}
}}"""


@pytest.fixture
def growing(tmp_path: Path, recorded_runs, make_evaluation) -> Iterator[Any]:
    """The run `grows` of a folder: its initial program, and its writer."""
    run = recorded_runs("grows_in_a_browser")
    run.initial("a = 1\n", make_evaluation((Fraction(1, 2), Fraction(1, 4)), score=20.0))
    run.archive.close()
    shutil.move(run.archive.folder, tmp_path / "runs" / "grows")
    with Archive.open(tmp_path / "runs" / "grows") as archive:
        run.archive = archive
        yield run


def _shown(looked: Looked, ended: bool) -> str:
    """All text of a page but for how long ago a run began. While it goes on its clock and the scales of its curve are
    not part of it: those of a page that was opened before leave less room."""
    return str(looked.page.evaluate(_TEXT, ".ago" if ended else ".ago, .clock, .curve .tick, .curve .reference"))


def _until_it_shows(looked: Looked, view: str, text: str, ended: bool) -> None:
    """Wait until a page shows exactly this text."""
    patience = time.monotonic() + PATIENCE_S
    while (found := _shown(looked, ended)) != text:
        if time.monotonic() > patience:
            difference = "\n".join(
                unified_diff(found.splitlines(), text.splitlines(), "open", "opened just now", lineterm="")
            )
            raise AssertionError(f"{view} does not show what has happened:\n{difference}")
        looked.page.wait_for_timeout(100)


def grow(run: Any, make_evaluation: Any, first: int) -> None:
    """Four generations more: a new best that cost something, a refused one, one that fails, one still under way."""
    archive, writer = run.archive.reader, run.archive
    better = make_evaluation((Fraction(1, 3), Fraction(1, 3)), score=20.0 + first + 0.25)
    best = run.propose(first, [archive.best], source=f"a = {first}\n", evaluation=better, name=f"step_{first}")
    writer.held_out(first, make_evaluation(score=19.0 + first), overfitted=None)
    run.ask(first + 1, [best])
    writer.refused(first + 1, 0, reason="no_patch", message="There is none.", final=True)
    failing = make_evaluation((Fraction(1), None), score=0.5)
    run.propose(first + 2, [archive.programs[0]], source=f"b = {first}\n", evaluation=failing)
    writer.summarised(len(archive.programs), citing(first))
    writer.noted(0, f"a note after {first}")
    run.ask(first + 3, [best])


def test_every_view_that_is_open_shows_what_a_new_one_shows(
    tmp_path: Path, chromium: Any, growing: Any, recorded_runs: Any, make_evaluation: Any
) -> None:
    # The view of what was learnt leaves open what was; the address says which document that is.
    whole = [view.replace("/meta", "/meta?document=3") for view in views_of("grows", [0])]
    views = ["#/", *whole, "#/run/grows/program/0?show=trust", "#/run/grows?up=gap", "#/compare/grows+other"]
    other = recorded_runs("other")
    other.initial("a = 1\n", make_evaluation((Fraction(1, 2), Fraction(1, 4)), score=20.0))
    other.archive.close()
    shutil.copytree(other.archive.folder, tmp_path / "runs" / "other")
    with ExitStack() as stack:
        served = stack.enter_context(serving(tmp_path, "--no-open"))
        opened = {}
        for view in views:
            opened[view] = Looked(chromium, served.address)
            opened[view].page.add_init_script(_TAKES_NO_TIME)
            opened[view].open(view)
        latest = Looked(chromium, served.address)
        for first, ended in ((1, False), (5, True)):
            grow(growing, make_evaluation, first)
            if ended:
                growing.archive.stopped("generations")
                growing.archive.close()
            for view in views:
                latest.page.goto("about:blank")
                latest.open(view)
                latest.page.evaluate(_PAINTED)
                _until_it_shows(opened[view], view, _shown(latest, ended), ended)
        for looked in [latest, *opened.values()]:
            looked.close()


def test_what_is_unfolded_selected_and_scrolled_stays_so_while_the_run_goes_on(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any
) -> None:
    grow(growing, make_evaluation, 1)
    with serving(tmp_path, "--no-open") as served:
        learnt, run, table = (Looked(chromium, served.address, height=300) for _ in range(3))
        learnt.open("#/run/grows/meta")
        learnt.page.get_by_text("the report as it was written").click()
        learnt.page.evaluate("window.scrollTo(0, 120)")
        run.open("#/run/grows")
        run.page.locator("details.step summary").click()
        run.page.get_by_text("whole program").wait_for()
        run.page.evaluate("getSelection().selectAllChildren(document.querySelector('.step .code-name'))")
        table.open("#/run/grows/generations")
        table.page.locator("input.filter").fill("step")
        table.page.keyboard.press("Enter")
        grow(growing, make_evaluation, 5)
        learnt.page.get_by_text("after 5 programs").wait_for()
        run.page.get_by_text("25.25").first.wait_for()
        run.page.locator("details.step").nth(1).wait_for(state="attached")
        table.page.get_by_text("step_5").wait_for()
        assert learnt.page.locator("details.document[open] details[open] pre").count() == 1
        assert learnt.page.evaluate("window.scrollY") == 120
        assert run.page.locator("details.step[open] .diff").count() == 1
        assert run.page.evaluate("getSelection().toString()") == "step_1"
        assert table.page.locator("input.filter").input_value() == "step"
        assert "step_1" in table.page.locator("tr.chosen").inner_text()
        for looked in (learnt, run, table):
            looked.close()


def test_more_pages_are_open_than_a_browser_makes_connections(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any
) -> None:
    """Those that are hidden keep none, and catch up when they are looked at again."""
    with serving(tmp_path, "--no-open") as served:
        first = Looked(chromium, served.address)
        first.open("#/run/grows")
        page = first.page
        for _ in range(8):
            page.evaluate(_HIDDEN, arg=True)
            page = first.context.new_page()
            page.goto(f"{served.address}#/run/grows")
            page.wait_for_selector("main[data-view]", state="attached", timeout=PATIENCE_S * 1000)
        grow(growing, make_evaluation, 1)
        page.get_by_text("21.25").first.wait_for()
        assert "21.25" not in first.page.inner_text("main")
        page.evaluate(_HIDDEN, arg=True)
        first.page.evaluate(_HIDDEN, arg=False)
        first.page.get_by_text("21.25").first.wait_for()
        first.page.get_by_text("no_patch 1").wait_for()
        first.close()


def test_each_column_of_the_heat_map_counts_instances_against_parent_and_best(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any
) -> None:
    propose = growing.propose
    first = propose(
        1,
        [growing.archive.reader.programs[0]],
        source="a = 3\n",
        evaluation=make_evaluation((Fraction(1, 3), Fraction(1, 4)), score=21.0),
    )
    propose(2, [first], source="a = 4\n", evaluation=make_evaluation((Fraction(1, 4), Fraction(1, 3)), score=22.0))
    with serving(tmp_path, "--no-open") as served:
        looked = Looked(chromium, served.address)
        looked.open("#/run/grows/instances")
        heads = [head.split() for head in looked.page.locator("th:has(.wins-below)").all_inner_texts()]
        assert heads == [
            ["holds", "back", "vs", "parent", "vs", "best"],
            ["best:", "2", "1↑", "0=", "1↓", "\u2013"],
            ["first:", "0", "\u2013", "1↑", "0=", "1↓"],
            ["1", "1↑", "1=", "0↓", "1↑", "0=", "1↓"],
        ]
        looked.close()


def test_a_new_best_that_comes_before_its_generation_is_compared_with_its_parent_once_that_is_there(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any
) -> None:
    def after_a_new_best(route: Any) -> None:
        better = make_evaluation((Fraction(1, 3), Fraction(1, 3)), score=21.0)
        growing.propose(1, [growing.archive.reader.best], source="a = 3\n", evaluation=better)
        route.continue_()

    with serving(tmp_path, "--no-open") as served:
        looked = Looked(chromium, served.address)
        looked.page.add_init_script(_ONE_EVENT_AT_FIRST)
        looked.open("#/run/grows/instances")
        looked.page.route("**/rest", after_a_new_best, times=1)
        growing.archive.noted(0, "a note")  # the event that the page asks for the rest after
        head = looked.page.locator("th", has_text="best: 1")
        head.wait_for()
        assert head.inner_text().split() == ["best:", "1", "\u2013", "\u2013"]
        looked.page.evaluate("letThrough()")
        head.get_by_text("1↑ 0= 1↓").wait_for()
        looked.close()


def test_an_older_answer_about_a_program_is_not_drawn_over_a_newer_one(
    tmp_path: Path, chromium: Any, growing: Any
) -> None:
    with serving(tmp_path, "--no-open") as served:
        looked = Looked(chromium, served.address)
        looked.page.add_init_script(_HELD_ANSWERS)
        looked.open("#/run/grows/program/0?show=trust")
        looked.page.evaluate("window.holds = '/gen/0'")
        growing.archive.noted(0, "the first note")
        looked.page.wait_for_function("() => held.length")
        looked.page.evaluate("held[0][0].then(() => true)")
        growing.archive.noted(0, "the second note")
        growing.ask(1, [growing.archive.reader.best])
        looked.page.get_by_text("under way: 1").wait_for()
        looked.page.evaluate(_NEWEST_FIRST)
        looked.page.get_by_text("the second note").wait_for()
        looked.close()


def test_a_page_of_an_earlier_server_says_that_its_key_is_no_more(tmp_path: Path, chromium: Any, growing: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:  # not the usual port, which another test may take meanwhile
        port = str(free.getsockname()[1])
    with serving(tmp_path, "--no-open", "--port", port) as served:
        looked = Looked(chromium, served.address)
        looked.open("#/run/grows")
    with serving(tmp_path, "--no-open", "--port", port):
        looked.page.get_by_text("lacks the server's key").wait_for()
        assert "20" in looked.page.inner_text("main")
    looked.wrong.clear()  # the browser tells of each answer that did not come
    looked.close()


def test_a_background_page_of_a_run_is_shown_the_last_that_was_recorded_and_that_the_command_has_ended(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    with background_page(Path("runs/grows")) as address:
        looked, program = (Looked(chromium, address.partition("#")[0]) for _ in range(2))
        looked.open("#/run/grows")
        grow(growing, make_evaluation, 1)
        program.open("#/run/grows/program/1?show=trust")
        growing.archive.stopped("generations")
        for seed in ("5", "6"):
            known = {"generation": 1, "suite": "s", "seed": seed, "instances": 1, "better": 1, "correct": False}
            growing.archive.add(FreshEvent(state=FreshState.FAILED, **known))
    for page in (looked.page, program.page):
        page.get_by_text("has ended").wait_for()
        assert "Open it again with: evolve view runs/grows" in page.inner_text("#status")
    looked.page.get_by_text("generation 1, the best, is not correct on fresh instances").wait_for()
    program.page.get_by_text("⚠ warning").wait_for()
    looked.page.evaluate("location.hash = '#/run/grows/failures'")
    looked.page.get_by_text("no_patch").first.wait_for()
    for page in (looked, program):  # while this process waited for the server's end, its browser could not ask
        page.wrong[:] = [line for line in page.wrong if "Failed to load resource: net::ERR_" not in line]
        page.close()


def test_the_head_of_a_run_that_goes_on_says_how_far_it_is_what_is_under_way_and_for_how_long(
    tmp_path: Path, chromium: Any, growing: Any, make_evaluation: Any
) -> None:
    grow(growing, make_evaluation, 1)
    with serving(tmp_path, "--no-open") as served:
        looked = Looked(chromium, served.address)
        looked.open("#/run/grows")
        head = looked.page.locator("#head")
        assert re.search(r"3( of \d+)? generations; under way: 4 \((asked|being judged)\)", head.inner_text())
        before = head.locator(".clock").inner_text()
        looked.page.wait_for_function("(before) => document.querySelector('.clock').textContent !== before", arg=before)
        failed = {
            "call": 0,
            "phase": CallPhase.FAILED,
            "status": "server_error",
            "model": "fake-8b",
            "again_in_s": 40.0,
        }
        growing.archive.asked(make_question(5, [growing.archive.reader.best]), "a prompt")
        growing.archive.called(PatchKey(5, 0), CallEvent(**failed, message="HTTP 500: CUDA out of memory"))
        head.get_by_text(
            re.compile(r"⚠ fake-8b: HTTP 500: CUDA out of memory, 1 failed, the last \d.* ago; next try in \d+ s")
        ).wait_for()
        growing.archive.stopped("generations")
        growing.archive.close()
        head.get_by_text("finished").wait_for()
        head.get_by_text("1 failed since its last answer").wait_for()
        assert "under way" not in head.inner_text()
        looked.close()
