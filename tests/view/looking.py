"""A page in a real browser, and what in it is not as it should be."""

import base64
import json
import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evolve.cli.main import main
from tests.view.serving import PATIENCE_S

CHROMIUM = shutil.which("chromium")
VIEWS = ("", "generations", "tree", "instances", "failures", "meta", "calls", "about")
LONG = "x" * 1_000_000
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
_FRAMES = """
new Promise((done) => {
  let left = 3;
  const next = () => (left-- ? requestAnimationFrame(next) : done());
  next();
})
"""


def views_of(name: str, programs: Sequence[int]) -> list[str]:
    """The addresses of every view of a run."""
    return [f"#/run/{name}/{view}".rstrip("/") for view in VIEWS] + [f"#/run/{name}/program/{n}" for n in programs]


class Looked:
    """A page, and whatever in it is not as it should be."""

    def __init__(self, chromium: Any, address: str, *, width: int = 1280, height: int = 800) -> None:
        self.context = chromium.new_context(viewport={"width": width, "height": height})
        # Nothing but what it came from may be asked.
        self.context.route(
            lambda url: not url.startswith((address.partition("#")[0], "data:")), lambda route: route.abort()
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.page.add_init_script(_WATCH)
        self.address = address
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
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
        wait_until_drawn(self.page)
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


def wait_until_drawn(page: Any) -> None:
    """Wait until a view is there, and what it draws once its size is known: that takes the two frames after it."""
    page.wait_for_selector("main[data-view]", state="attached")
    page.evaluate(_FRAMES)


def texts_of(chromium: Any, file: Path, views: list[str]) -> list[str]:
    """The text of each view of a report. Nothing may go wrong in it, nor may it hang."""
    page, texts, wrong = chromium.new_page(), [], []
    page.set_default_timeout(30_000)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for view in views:
        page.goto("about:blank")
        page.goto(f"file://{file}#/{view}")
        wait_until_drawn(page)
        assert page.locator(".failure").count() == 0, page.inner_text("body")
        texts.append(str(page.inner_text("body")))
    page.close()
    assert wrong == []
    return texts


def reported(runs: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The report of some runs."""
    for name, run in runs.items():
        run.archive.stopped("generations")
        shutil.copytree(run.archive.folder, folder / "runs" / name)
    monkeypatch.chdir(folder)
    assert main(["report", *runs, "-o", "report.html"]) == 0
    return folder / "report.html"


def data_of(file: Path) -> dict[str, Any]:
    """The data of a report, as its page opens it."""
    found = re.search(
        r'<script type="application/octet-stream;base64" id="data">([A-Za-z0-9+/=]*)</script>', html_of(file)
    )
    assert found is not None
    document = json.loads(zlib.decompress(base64.b64decode(found[1]), wbits=-zlib.MAX_WBITS))
    return {**document, **{key: _joined(document[key], document) for key in ("runs", "rows")}}


def html_of(file: Path) -> str:
    """A file as it is."""
    return file.read_text(encoding="utf-8")


def _joined(value: Any, document: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_joined(each, document) for each in value]
    if isinstance(value, dict):
        if set(value) == {"$lines"}:
            return "\n".join(document["lines"][number] for number in document["texts"][value["$lines"]])
        return {key: _joined(each, document) for key, each in value.items()}
    return value
