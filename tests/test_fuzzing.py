"""The surfaces of the fuzzer run: `python -m tests.benchmarks.fuzz` makes hundreds of thousands of these cases."""

import random
from pathlib import Path

import pytest

from tests.benchmarks.fuzzing import SURFACES

_FROM_A_RUN = {"journals", "records", "archives"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in _FROM_A_RUN else name for name in SURFACES]
)
def test_a_surface_takes_hostile_input(name: str, tmp_path: Path) -> None:
    SURFACES[name].prepare(tmp_path)
    endings = [SURFACES[name].case(random.Random(f"{name}:{number}"), tmp_path) for number in range(5)]
    assert all(endings)
