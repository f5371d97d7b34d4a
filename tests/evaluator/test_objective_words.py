"""How a difference between two values of a metric is put into words."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.objective import GAIN_UNIT, Direction, Objective

SLOTS = Objective(metric="makespan", direction=Direction.MINIMISE, unit="slots")


def test_a_difference_says_better_or_worse_without_a_sign() -> None:
    assert SLOTS.worded(-5.0) == "5 slots better"
    assert SLOTS.worded(6.0) == "6 slots worse"
    assert SLOTS.worded(0.0) == "the same"
    assert Objective(metric="C").worded(0.0123) == "0.0123 better"


def test_a_difference_of_ratios_is_a_percentage_of_what_was_before() -> None:
    gain = Objective(metric="speedup", unit=GAIN_UNIT)
    assert gain.worded(0.5, 1.5) == "50.0 % better"
    assert gain.worded(0.5, 2.5) == "25.0 % better"
    assert gain.worded(-0.3, 1.2) == "20.0 % worse"
    assert gain.worded(0.0001, 1.0001) == "0.01 % better"
    assert gain.worded(0.0123) == "0.0123 better", "a mean of differences is no ratio"


def test_a_small_difference_does_not_read_as_nothing() -> None:
    assert Objective().worded(-0.0000032) == "3.2e-06 worse"


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(Direction),
    st.sampled_from(["", "slots", GAIN_UNIT]),
    st.none() | st.floats(min_value=1e-80, max_value=1e80),
)
def test_the_word_follows_the_direction(change: float, direction: Direction, unit: str, reached: float | None) -> None:
    objective = Objective(direction=direction, unit=unit)
    text = objective.worded(change, reached)
    assert "+" not in text.removesuffix("better").removesuffix("worse").replace("e+", "e")
    assert not text.startswith("-")
    if change:
        assert text.endswith("better") == ((change > 0) == (direction is Direction.MAXIMISE))
