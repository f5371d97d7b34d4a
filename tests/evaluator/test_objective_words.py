"""How a difference between two values of a metric is put into words."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.objective import Direction, Objective

SLOTS = Objective(metric="makespan", direction=Direction.MINIMISE, unit="slots")


def test_a_difference_says_better_or_worse_without_a_sign() -> None:
    assert SLOTS.worded(-5.0) == "5 slots better"
    assert SLOTS.worded(6.0) == "6 slots worse"
    assert SLOTS.worded(0.0) == "the same"
    assert Objective(metric="C").worded(0.0123) == "0.0123 better"


def test_a_small_difference_does_not_read_as_nothing() -> None:
    assert Objective().worded(-0.0000032) == "3.2e-06 worse"


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(Direction))
def test_the_word_follows_the_direction(change: float, direction: Direction) -> None:
    objective = Objective(direction=direction)
    text = objective.worded(change)
    assert "+" not in text.removesuffix("better").removesuffix("worse").replace("e+", "e")
    assert not text.startswith("-")
    if change:
        assert text.endswith("better") == ((change > 0) == (direction is Direction.MAXIMISE))
