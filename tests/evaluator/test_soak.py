import pytest
from soak import soak


@pytest.mark.slow
def test_candidates_of_every_kind_leave_nothing_behind() -> None:
    """The short form of `python tests/evaluator/soak.py`, which runs 2,000 in `make nightly`."""
    soak(100)
