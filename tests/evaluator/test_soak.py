from soak import soak


def test_candidates_of_every_kind_leave_nothing_behind() -> None:
    """The short form of `python tests/evaluator/soak.py`, which runs 2,000."""
    soak(300)
