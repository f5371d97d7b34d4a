"""Claims about lines that come and go."""

from hypothesis import given
from hypothesis import strategies as st

from evolve.proposal import Returned
from evolve.propose.requests import returned

LINES = [f"a line of code {letter}" for letter in "abcdef"]
programs = st.lists(st.lists(st.sampled_from(LINES), max_size=6), max_size=8)


def line(sources: list[list[str]]) -> list[tuple[int, str]]:
    return [(number, "\n".join(texts)) for number, texts in enumerate(sources)]


@given(programs)
def test_what_is_shown_to_have_come_back_was_there_was_gone_and_is_there_again(sources: list[list[str]]) -> None:
    for back in returned(line(sources)):
        assert 0 < back.removed < back.brought_back < len(sources)
        assert back.lines
        for text in back.lines:
            assert text in sources[back.removed - 1]
            assert not any(text in sources[between] for between in range(back.removed, back.brought_back))
            assert text in sources[back.brought_back]


@given(programs)
def test_a_line_that_only_grows_brings_nothing_back(sources: list[list[str]]) -> None:
    grown = [[text for earlier in sources[: number + 1] for text in earlier] for number in range(len(sources))]
    assert returned(line(grown)) == ()


def test_the_generations_are_named_and_short_or_moved_lines_are_not() -> None:
    sources = ["a = first_idea(x)\nelse:\nb = other(x, y)", "a = second_idea(x)\nb = other(x, y)"]
    sources += ["b = other(x, y)\n    a = first_idea(x)\nelse:"]
    assert returned(list(zip((0, 5, 8), sources, strict=True))) == (
        Returned(removed=5, brought_back=8, lines=("a = first_idea(x)",)),
    )
