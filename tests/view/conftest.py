"""One browser for all tests that look at pages, and the runs that they look at, made once."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.reader import RunReader
from evolve.archive.reports import (
    Citation,
    Insight,
    InsightsReport,
    Problem,
    Recommendation,
    Round,
    Scratchpad,
)
from evolve.core.program import PatchKind
from tests.journals import events_of, sealed
from tests.loop import leaking
from tests.loop.climbing import TASK, configure, evolve, meta_answer, patch, script
from tests.view.looking import CHROMIUM, LONG

MARKUP = "</script><script>window.broken=1</script><img src=x onerror=window.broken=1><svg onload=window.broken=1>"
HOSTILE = f"{MARKUP}\u202eright to left\u2066\x1b[31mred\x07\x00{{{{7*7}}}}\ud800 javascript:window.broken=1"
LONG_RUN = 2_000
"""Attempts of the run `long`."""


SMOKE = "test_view_smoke.py"


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put every test that asks for the browser into the slow set, but for one smoke test of each view."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()) and item.path.name != SMOKE:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Headless Chromium; a test that asks for it is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright, of the extra `dev`, is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: what a browser makes of the pages is not tested")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory: pytest.TempPathFactory, recorded_runs, make_evaluation) -> Path:
    """A folder with runs: `offline` (100 programs), `scripted` (with failures, refusals, insights reports), `leaked`
    (with quarantine), `hostile`, `empty` (nothing yet), `begun` (the initial program), `long` (2,000 attempts)."""
    folder = tmp_path_factory.mktemp("looked_at")
    evolve(folder, "run", "--task", str(TASK), "--generations", "100", "--name", "offline", "--seed", "1", code=None)
    answers: list[Any] = [patch(1 + generation / 100, name=f"step_{generation}") for generation in range(1, 31)]
    answers[4] = patch("OFFSET = None", name="no_offset")  # fails
    answers[7] = ["I would rather talk about it.", patch(1.08, name="step_8")]  # repaired
    answers[9] = patch(1.1, name="raise_kick_iterations_and_replace_fill_memory_by_greedy_by_size")
    answers[16] = patch(1).replace("# next\n=", "# nowhere\n=")  # matches nothing
    answers[18] = patch("OFFSET -= 0", name="nothing").replace("OFFSET -= 0\n", "")  # changes nothing
    answers[20] = {"error": "server_error"}
    headings = "".join(f"# Generation {generation}: x\n" for generation in range(1, 31))
    meta = {"summaries": meta_answer(f"You describe programs\n{headings}"), "insights": meta_answer("")}
    config = configure(folder, models=[script(folder, answers, [meta] * 5)], generations=30, meta_every=7)
    evolve(folder, "run", config, "--name", "scripted")
    answers_of = {"second": leaking.SECOND, "great_leap": leaking.CLAIMS, "third": leaking.THIRD}
    config = leaking.configure(folder, answers_of, generations=5, meta_every=3, meta=[leaking.ROUND])
    evolve(folder, "run", config, "--name", "leaked", code=None)
    begun = recorded_runs("begun")
    begun.initial("a = 1\n")
    recorded = [_hostile(recorded_runs("hostile"), make_evaluation), recorded_runs("empty").archive, begun.archive]
    for archive in recorded:
        shutil.copytree(archive.folder, folder / "runs" / archive.folder.name)
    _long(recorded_runs("long"), make_evaluation, folder / "runs" / "long")
    return folder


def _long(run: Any, make_evaluation: Callable[..., Any], place: Path) -> None:
    """A run of 2,000 attempts at `place`: 60 of them programs, recorded as they are; the others refused, for which what
    is recorded of three is repeated under other numbers."""
    chain = [run.initial("a = 0\n")]
    for number in range(1, 60):
        parent = chain[-1] if number % 3 else chain[len(chain) // 2]
        better = make_evaluation(score=20.0 + number / 20 if number % 4 else 19.0 + number / 100)
        chain.append(run.propose(number, [parent], source=f"a = {number}\n", evaluation=better, name=f"step_{number}"))
    for number, reason in enumerate(("no_patch", "no_match", "malformed"), 60):
        run.ask(number, [chain[-number % 7]], answer=f"answer {number}")
        run.archive.refused(number, 0, reason=reason, message=f"why {number}", final=True)
    run.archive.close()
    shutil.copytree(run.archive.folder, place)
    journal = place / "journal.jsonl"
    events = list(events_of(journal))
    shown = [[event for event in events if event.get("generation") == number] for number in (60, 61, 62)]
    for number in range(63, LONG_RUN + 1):
        events += [{**event, "generation": number, "t": events[-1]["t"] + 0.5} for event in shown[number % 3]]
    journal.write_bytes(sealed({**event, "seq": at} for at, event in enumerate(events)))


def _hostile(run: Any, make_evaluation: Callable[..., Any]) -> RunReader:
    """A run in which every text that a model, a program or somebody else writes is hostile."""
    initial = run.initial(f"'''{MARKUP}'''\n")
    verdict = make_evaluation((None, None), score=0.5, detail=HOSTILE, quarantine=HOSTILE)
    texts = {"name": HOSTILE, "description": HOSTILE, "patch": f"{HOSTILE}\n{LONG}"}
    run.propose(1, [initial], source=f"'''{MARKUP}'''\nb = 1\n", evaluation=verdict, **texts)
    run.ask(2, [initial], answer=f"{HOSTILE}\n{LONG}", reasoning=HOSTILE)
    run.archive.refused(2, 0, reason="no_patch", message=HOSTILE, final=True)
    better = make_evaluation(score=24.0)
    run.propose(3, [initial], source=f"# {HOSTILE[:150]}\n", evaluation=better, kind=PatchKind.CROSS, **texts)
    cited = Citation(generations=(3,), figure=MARKUP, shown=f"generation 3 {MARKUP}")
    spoken = (f"{MARKUP} [x](javascript:window.broken=1) ", cited)
    sections = ((Insight(mark=f"- {MARKUP}", text=spoken),), (), (), ())
    report = InsightsReport(
        scratchpad=Scratchpad(sections=sections), recommendations=(Recommendation(text=spoken),), warning=MARKUP
    )
    hostile = HOSTILE.replace("\ud800", "")
    problems = (Problem(step="insights", why=hostile),)
    run.archive.summarised(3, Round(report=report, corrections=(hostile,), problems=problems))
    run.archive.noted(3, MARKUP)
    run.archive.stopped("generations")
    return run.archive.reader


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, recorded_runs, make_evaluation) -> Path:
    """A folder with `runs/first` and `runs/second` and, next to `runs`, `outside`; `runs/linked` is a link to that."""
    place = tmp_path_factory.mktemp("served")
    for name in ("first", "second", "outside"):
        run = recorded_runs(name)
        initial = run.initial("a = 1\n")
        best = run.propose(1, [initial], source="a = 2\n", evaluation=make_evaluation(score=22.0), name="two")
        run.ask(2, [best], answer="no patch at all")
        run.archive.refused(2, 0, reason="no_patch", message="There is no patch in it.", final=True)
        run.archive.stopped("generations")
        shutil.copytree(run.archive.folder, place / ("outside" if name == "outside" else f"runs/{name}"))
    (place / "runs" / "linked").symlink_to(place / "outside")
    (place / "runs" / "notes.txt").write_text("mine")
    return place
