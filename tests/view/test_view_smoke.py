"""One look at each view, live and in a report. All other tests with a browser are in the slow set (`conftest.py`)."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from evolve.cli.main import main
from tests.view.looking import Looked, views_of
from tests.view.serving import serving


@pytest.mark.parametrize("how", ["live", pytest.param("report", marks=pytest.mark.slow)])
def test_every_view_is_drawn(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, how: str
) -> None:
    with ExitStack() as stack:
        if how == "live":
            address = stack.enter_context(serving(runs, "--no-open")).address
        else:
            monkeypatch.chdir(runs)
            assert main(["report", "first", "second", "-o", str(tmp_path / "both.html")]) == 0
            address = (tmp_path / "both.html").as_uri()
        looked = Looked(chromium, address)
        for view in ["#/", *views_of("first", [0, 1, 2]), "#/compare/first+second"]:
            assert "first" in looked.open(view)
        looked.close()  # nothing was written to the console, and nothing was asked that the policy forbids
