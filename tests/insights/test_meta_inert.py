"""A Markdown viewer that shows an insights report loads nothing, runs nothing and follows nothing."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evolve.archive.reports import InsightsReport, body, markdown, shown
from evolve.insights.check import Editor
from evolve.insights.citations import insights, resolved
from tests.insights.a_run import a_run
from tests.reports import report

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


FACTS = {fact.generation: fact for fact in a_run()}


def _report(text: str) -> InsightsReport:
    return report(
        FACTS, summaries={1: text}, sections=(text, text, text, text), recommendations=[f"x {text}"], warning=text
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_html_images_and_links_are_dead(text: str) -> None:
    assert LIVE.search(markdown(_report(text))) is None


@given(texts)
def test_whatever_is_put_together_is_dead(text: str) -> None:
    assert LIVE.search(markdown(_report(text))) is None


@given(st.lists(st.sampled_from(["[gen 7]", "[gen 7].score", "[gen 2, gen 4]", "[gen 99]", "38.38", *HOSTILE, *"<!]([:/`. \n"])).map("".join))  # fmt: skip  # noqa: E501
@example("<[gen 7]")
@example("[gen 7](x)")
@example("x]38.38")
@example("38.38: x")
@example("generation 7 (1.5)(x)")
def test_what_is_stated_in_the_place_of_a_citation_revives_nothing(text: str) -> None:
    editor = Editor(facts=FACTS)
    assert LIVE.search(shown(resolved(editor.line(text, ""), FACTS))) is None
    assert LIVE.search(shown(body(insights(editor.body(text, ""), FACTS)))) is None


def test_code_in_backticks_and_generations_stay_readable() -> None:
    text = "Use `if a < b: x[i] = y` as [gen 99] did; 2 < 3."
    assert text in markdown(_report(text))
