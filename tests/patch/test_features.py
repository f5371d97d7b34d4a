"""Claims about what a patch is said to have changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.patch.features import MAX_FEATURES, features

BEFORE = "N = 3\nMODE = 'a'\n\ndef f(x):\n    return x\n\n\nclass C:\n    def m(self):\n        return N\n"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (BEFORE, ()),
        (BEFORE.replace("N = 3", "N = 4"), ("raise N",)),
        (BEFORE.replace("N = 3", "N = 2.5"), ("lower N",)),
        (BEFORE.replace("'a'", "'b'"), ("set MODE",)),
        (BEFORE + "\n\ndef g():\n    return 1\n", ("add g",)),
        (BEFORE.replace("def f", "def g"), ("add g", "remove f")),
        (BEFORE.replace("return x", "return x + 1"), ("change f",)),
        (BEFORE.replace("return N", "return N + 1"), ("change C.m",)),
        (BEFORE.replace("return x", "return g(x)") + "\n\ndef g(x):\n    return x\n", ("add g",)),
        (BEFORE + "# a comment\n", ()),
        ("not python (", ()),
    ],
)
def test_what_differs_is_named(after: str, found: tuple[str, ...]) -> None:
    assert features(BEFORE, after) == found


def test_a_rewrite_names_no_more_than_the_most() -> None:
    many = "".join(f"def f{number}():\n    return {number}\n" for number in range(50))
    assert len(features(BEFORE, many)) == MAX_FEATURES


@given(st.text(), st.text())
def test_any_two_texts_have_features_or_none(before: str, after: str) -> None:
    assert all(len(name.split(" ")) == 2 for name in features(before, after))
    assert features(before, before) == ()
