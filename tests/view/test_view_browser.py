"""The pages in a real browser: every view of every kind of run, under the strict policy, and nothing else asked for."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.archive import Archive
from evolve.cli.main import main
from evolve.program import PatchKind
from tests.run.climbing import TASK, configure, evolve, meta_answer, patch, script
from tests.view.serving import PATIENCE_S, serving

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright, of the extra `dev`, is not installed")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium: what a browser makes of the pages is not tested"
)

VIEWS = ("", "generations", "tree", "instances", "failures", "meta", "calls", "about")
MARKUP = "</script><script>window.broken=1</script><img src=x onerror=window.broken=1><svg onload=window.broken=1>"
HOSTILE = f"{MARKUP}\u202eright to left\u2066\x1b[31mred\x07\x00{{{{7*7}}}}\ud800 javascript:window.broken=1"
LONG = "x" * 1_000_000
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Looked:
    """A page, and whatever in it is not as it should be."""

    def __init__(self, chromium: Any, address: str, *, width: int = 1280) -> None:
        self.context = chromium.new_context(viewport={"width": width, "height": 800})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.page.add_init_script(_WATCH)
        self.address = address
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, view: str) -> str:
        """The text of a view, once it is drawn. It must be one."""
        if self.page.url == "about:blank":
            self.page.goto(self.address + view)
        else:
            self.page.evaluate("document.getElementById('main').removeAttribute('data-view')")
            self.page.evaluate(
                "(view) => { if (location.hash === view) location.reload(); else location.hash = view; }", view
            )
        self.page.wait_for_selector("main[data-view]", state="attached")
        text = str(self.page.inner_text("body"))
        assert self.page.locator(".failure").count() == 0, text
        assert self.page.inner_text("main").strip()
        for word in ("undefined", "NaN", "[object"):
            assert word not in self.page.inner_text("main").replace(LONG, ""), f"{view}: {word}"
        return text

    def close(self) -> None:
        """Close it; nothing must have gone wrong."""
        violations = self.page.evaluate("window.violations")
        broken = self.page.evaluate("window.broken")
        self.context.close()
        assert (self.wrong, violations, broken) == ([], [], None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, recorded_runs, make_evaluation) -> Path:
    """A folder with runs: `offline` (200 programs), `scripted`, `hostile` and `empty`."""
    folder = tmp_path_factory.mktemp("looked_at")
    evolve(folder, "run", "--task", str(TASK), "--generations", "200", "--name", "offline", "--seed", "1", code=None)
    answers: list[Any] = [patch(1 + generation / 100, name=f"step_{generation}") for generation in range(1, 31)]
    answers[4] = patch("OFFSET = None", name="no_offset")  # fails
    answers[7] = ["I would rather talk about it.", patch(1.08, name="step_8")]  # mended
    answers[16] = patch(1).replace("# next\n=", "# nowhere\n=")  # matches nothing
    answers[18] = patch("OFFSET -= 0", name="nothing").replace("OFFSET -= 0\n", "")  # changes nothing
    answers[20] = {"error": "server_error"}
    asked = {"summary": "You describe one program", "scratchpad": "## Successful Algorithmic Patterns"}
    meta = {step: meta_answer(prompt) for step, prompt in asked.items()} | {"recommendations": meta_answer("")}
    config = configure(folder, models=[script(folder, answers, [meta] * 5)], generations=30, meta_every=7)
    evolve(folder, "run", config, "--name", "scripted")
    recorded = [_hostile(recorded_runs("hostile"), make_evaluation), recorded_runs("empty").archive]
    for archive in recorded:
        shutil.copytree(archive.folder, folder / "runs" / archive.folder.name)
    return folder


def _hostile(run: Any, make_evaluation: Callable[..., Any]) -> Archive:
    """A run in which every text that a model, a program or somebody else writes is hostile."""
    initial = run.initial(f"'''{MARKUP}'''\n")
    verdict = make_evaluation((None, None), score=0.5, detail=HOSTILE, quarantine=HOSTILE)
    texts = {"name": HOSTILE, "description": HOSTILE, "patch": f"{HOSTILE}\n{LONG}"}
    run.propose(1, [initial], source=f"'''{MARKUP}'''\nb = 1\n", evaluation=verdict, **texts)
    run.ask(2, [initial], answer=f"{HOSTILE}\n{LONG}", reasoning=HOSTILE)
    run.archive.refused(2, 0, reason="no_patch", message=HOSTILE, final=True)
    better = make_evaluation(score=24.0)
    run.propose(3, [initial], source=f"# {HOSTILE[:150]}\n", evaluation=better, kind=PatchKind.CROSS, **texts)
    document = f"# META RECOMMENDATIONS\n\n1.  {MARKUP} [x](javascript:window.broken=1) [gen 3].\n"
    run.archive.summarised(
        programs=3, state={"rounds": 1, "summaries": []}, document=document, corrections=[HOSTILE], problems=[HOSTILE]
    )
    run.archive.noted(3, MARKUP)
    run.archive.stopped("generations")
    return run.archive


def _views(name: str, programs: list[int]) -> list[str]:
    return [f"#/run/{name}/{view}".rstrip("/") for view in VIEWS] + [f"#/run/{name}/program/{n}" for n in programs]


@pytest.fixture(scope="module")
def live(runs: Path, chromium: Any) -> Iterator[Looked]:
    with serving(runs, "--no-open") as served:
        looked = Looked(chromium, served.address)
        yield looked
        looked.close()


@pytest.fixture(scope="module")
def report(runs: Path, chromium: Any) -> Iterator[Looked]:
    file = runs / "all.html"
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(runs)
        assert main(["report", "offline", "scripted", "hostile", "empty", "-o", str(file)]) == 0
    looked = Looked(chromium, file.as_uri())
    looked.context.route(
        "**/*", lambda route: route.continue_() if route.request.url == file.as_uri() else route.abort()
    )
    yield looked
    asked = {url.partition("#")[0] for url in looked.asked}
    looked.close()
    assert asked <= {file.as_uri(), "data:,"}


@pytest.fixture(params=["live", "report"])
def looked(request: pytest.FixtureRequest) -> Looked:
    found: Looked = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(
    ("name", "programs"), [("offline", [0, 1, 100, 200]), ("scripted", [0, 5, 8, 17, 19, 21, 30]), ("empty", [])]
)
def test_every_view_of_a_run_is_drawn(looked: Looked, name: str, programs: list[int]) -> None:
    for view in _views(name, programs):
        text = looked.open(view)
        assert name in text


def test_the_table_of_runs_names_each(looked: Looked) -> None:
    text = looked.open("#/")
    assert all(name in text for name in ("offline", "scripted", "hostile", "empty"))


def test_hostile_text_is_shown_as_text(looked: Looked) -> None:
    scripts = None
    for view in _views("hostile", [0, 1, 2, 3]):
        text = looked.open(view)
        counted = looked.page.evaluate("document.scripts.length")
        assert scripts in (None, counted)
        scripts = counted
        assert looked.page.locator("main img[onerror], main svg[onload], main a[href^='javascript']").count() == 0
        if "/program/" in view:
            assert "<img src=x onerror=window.broken=1>" in text


def test_a_new_program_appears_on_the_page_that_is_open(
    tmp_path: Path, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("grows_in_a_browser")
    run.initial("a = 1\n")
    run.archive.close()
    shutil.move(run.archive.folder, tmp_path / "runs" / "grows")
    with (
        Archive.open(tmp_path / "runs" / "grows", write=True) as archive,
        serving(tmp_path, "runs/grows", "--no-open") as served,
    ):
        run.archive = archive
        looked = Looked(chromium, served.address.partition("#")[0])
        assert "20" in looked.open("#/run/grows")
        run.propose(1, [archive.programs[0]], source="a = 3\n", evaluation=make_evaluation(score=23.25))
        looked.page.get_by_text("23.25").first.wait_for()
        archive.stopped("generations")
        looked.page.get_by_text("generations").first.wait_for()
        looked.close()
