"""A Markdown viewer that shows a meta document loads nothing, runs nothing and follows nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.meta.document import Document, ProgramSummary, Scratchpad, parse, render

LIVE = re.compile(r"<[A-Za-z/!?]|\]\(|\]\[|\]:|://|\bwww\.\w")
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>evil()</script>",
    "![p](http://evil/p.png)",
    "![p][r]\n\n[r]: http://evil/p.png",
    "[click](javascript:evil())",
    "<http://evil>",
    "www.evil.example",
    "`\n`<img src=x>`",
    "- a\n  ```\n<img src=x>",
    "```\n<img src=x>\n```\n<img src=y>",
]
pieces = st.sampled_from([*HOSTILE, *"<!](:/`[a \n\x07", "```\n"])
texts = st.lists(pieces, max_size=8).map("".join)


def _document(text: str) -> Document:
    summary = ProgramSummary(generation=1, patch_name=text, correct=True, name=text, implementation=text, feedback=text)
    pad = Scratchpad(sections=(text, text, text, text), preface=text)
    return Document(summaries=(summary,), scratchpad=pad, recommendations=(text,), warning=text)


@pytest.mark.parametrize("text", HOSTILE)
def test_html_images_and_links_are_dead(text: str) -> None:
    assert LIVE.search(render(_document(text))) is None


@given(texts)
def test_whatever_is_put_together_is_dead_and_stays_as_it_is(text: str) -> None:
    written = render(_document(text))
    assert LIVE.search(written) is None
    assert render(parse(written)) == written


def test_code_in_backticks_and_generations_stay_readable() -> None:
    text = "Use `if a < b: x[i] = y` as [gen 3] did; 2 < 3."
    assert text in render(_document(text))
