"""Where a test's run stands, and two ways to get whole small ones."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from tests.archive.small_run import IDENTITY, evolve_on


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


def _write(path: Path, generations: int, prompts: bool) -> Path:
    with Archive.create(path, config_text="seed: 0\n", identity=IDENTITY) as archive:
        evolve_on(archive, generations, prompts=prompts)
    return path


@pytest.fixture(scope="session")
def written_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, bool], Path]:
    """Small runs that are only copied, each written when it is first asked for."""
    folder, written = tmp_path_factory.mktemp("written"), dict[tuple[int, bool], Path]()

    def get(generations: int, prompts: bool) -> Path:
        key = generations, prompts
        if key not in written:
            written[key] = _write(folder / f"{generations}_{prompts}", generations, prompts)
        return written[key]

    return get


@pytest.fixture
def make_run(tmp_path: Path, written_runs: Callable[[int, bool], Path]) -> Callable[..., Path]:
    """Copies a run, for a test to read, harm or go on with: writing a new one takes most of a second of disk."""

    def make(name: str = "run", *, generations: int = 7, prompts: bool = True) -> Path:
        return Path(shutil.copytree(written_runs(generations, prompts), tmp_path / name, symlinks=True))

    return make


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a new run, for a test of how it is written."""
    return lambda name, *, generations: _write(tmp_path / name, generations, True)
