import pytest

from nearby import distance


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("", "abc", 3),
        ("saturday", "sunday", 3),
        ("flaw", "lawn", 2),
        ("same", "same", 0),
        ("abc", "cab", 2),
    ],
)
def test_known_distances(first: str, second: str, expected: int) -> None:
    assert distance(first, second) == expected


def test_it_is_the_same_in_both_directions() -> None:
    assert distance("intention", "execution") == distance("execution", "intention") == 5
