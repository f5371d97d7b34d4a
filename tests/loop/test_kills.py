"""The real command, killed at random moments and resumed: a small part of `tests/benchmarks/kills.py`."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loop.climbing import opened
from tests.loop.killing import kill_and_resume, offline, run_through, scripted

MORE = pytest.param(3, marks=pytest.mark.slow)


@pytest.mark.parametrize("kills", [1, MORE])
@pytest.mark.parametrize("make", [scripted, offline])
def test_one_in_flight_a_killed_run_is_the_same_run(tmp_path: Path, make: Callable[..., str], kills: int) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole, seconds = run_through(tmp_path / "whole", make(tmp_path / "whole", parallel=1, generations=14))
    config = make(tmp_path / "killed", parallel=1, generations=14)
    chance = random.Random(f"{make.__name__}:1")
    killed = kill_and_resume(tmp_path / "killed", config, kills=kills, group=True, seconds=seconds, chance=chance)
    assert killed.wrong == []
    with opened(tmp_path / "killed") as archive:
        assert archive.fingerprint() == whole


@pytest.mark.parametrize("kills", [1, MORE])
@pytest.mark.parametrize("group", [pytest.param(False, marks=pytest.mark.slow), True])
def test_four_in_flight_nothing_is_asked_twice_lost_or_doubled(tmp_path: Path, group: bool, kills: int) -> None:
    config = scripted(tmp_path, parallel=4)
    chance = random.Random(f"{group}:4")
    killed = kill_and_resume(tmp_path, config, kills=kills, group=group, seconds=(0.5, 2.0), chance=chance)
    assert killed.wrong == []
    assert killed.choices >= 24
