"""Where a test's run stands, and a way to make whole small ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from tests.archive.small_run import IDENTITY, evolve_on


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str = "run", *, generations: int = 7, prompts: bool = True) -> Path:
        path = tmp_path / name
        with Archive.create(path, config_text="seed: 0\n", identity=IDENTITY) as archive:
            evolve_on(archive, generations, prompts=prompts)
        return path

    return make
