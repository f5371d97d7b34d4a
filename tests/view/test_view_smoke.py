"""One look at each view, live. All other tests with a browser, those of reports too, are slow (`conftest.py`)."""

from pathlib import Path
from typing import Any

from tests.view.looking import Looked, views_of
from tests.view.serving import serving


def test_every_view_is_drawn(runs: Path, chromium: Any) -> None:
    with serving(runs, "--no-open") as served:
        looked = Looked(chromium, served.address)
        for view in ["#/", *views_of("first", [0, 1, 2]), "#/compare/first+second"]:
            assert "first" in looked.open(view)
        looked.close()  # nothing was written to the console, and nothing was asked that the policy forbids
