from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.reader import SHORT
from evolve.review.texts import short_commits

_LETTERS = st.text("0123456789abcdef", min_size=40, max_size=40)
_DIGITS = st.text("0123456789", min_size=38, max_size=38).map(lambda text: f"{text}ab")
_ALIKE = st.text("0123456789abcdef", min_size=20, max_size=20).map(lambda text: "0123456789" * 2 + text)


@given(st.sets(_LETTERS | _DIGITS | _ALIKE, max_size=12))
def test_a_short_commit_means_one_program(commits):
    short = short_commits(commits)
    assert set(short) == commits
    for commit, shown in short.items():
        assert commit.startswith(shown)
        assert len(shown) >= SHORT
        assert [other for other in commits if other.startswith(shown)] == [commit]


def test_it_is_no_longer_than_it_must_be():
    digits, other = "12345678901a" + "0" * 28, "abcdef0123" + "0" * 30
    assert short_commits([digits, other]) == {digits: "12345678", other: "abcdef01"}
    assert short_commits([]) == {}
