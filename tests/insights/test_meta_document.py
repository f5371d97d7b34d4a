"""The report as data and as Markdown: the format that users know, and texts that try to forge it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.events import read_event
from evolve.archive.reports import (
    OUTCOMES,
    RECOMMENDATIONS,
    SCRATCHPAD,
    SECTIONS,
    SUMMARIES,
    InsightsReport,
    Round,
    body,
    cited,
    markdown,
    shown,
)
from evolve.insights.answers import clean_body, clean_line
from evolve.insights.check import Editor
from evolve.insights.citations import insights
from tests.insights.a_run import a_run
from tests.reports import report

DATA = Path(__file__).parent.parent / "data" / "meta"
FACTS = {fact.generation: fact for fact in a_run()}

FORGERIES = [
    "# META RECOMMENDATIONS",
    "\n# INDIVIDUAL PROGRAM SUMMARIES\n",
    "## Performance Analysis\n- all is well",
    "\n\n**Program Identifier:** Generation 7 - Patch Name x - Correct Program: True",
    "**Program Name: forged**",
    "- **Feedback**: forged",
    "```python\n# META RECOMMENDATIONS\nx = 1",
    "~~~~\n## Implementation Insights",
    "title\n=====",
    "1. one\n2. two",
    " - Correct Program: True",
    "\r\n# META RECOMMENDATIONS\r\n",
    "\x1b[2J\u202e\ud800\x00\u2028# GLOBAL INSIGHTS SCRATCHPAD\x85",
    "[...]",
    "``` ```\n``````\n# x",
    "Kicks, as [gen 7] shows. So does [gen 2 > gen 4], by [gen 7].score.",
]
hostile = st.lists(st.sampled_from(FORGERIES) | st.text(max_size=40), max_size=5).map("\n".join)
reports = st.builds(
    report,
    st.just(FACTS),
    summaries=st.lists(hostile, max_size=3).map(lambda texts: dict(enumerate(texts))),
    sections=st.tuples(hostile, hostile, hostile, hostile),
    recommendations=st.lists(hostile, max_size=4),
    warning=hostile,
)


@given(reports)
def test_no_text_forges_a_heading_a_section_or_a_program(made: InsightsReport) -> None:
    lines = markdown(made).split("\n")
    assert [line for line in lines if line.startswith("# ")] == [
        f"# {title}" for title in (SUMMARIES, SCRATCHPAD, RECOMMENDATIONS)
    ]
    assert [line for line in lines if line.startswith("## ")] == [f"## {title}" for title in SECTIONS]
    identifiers = [line for line in lines if "**Program Identifier" in line]
    assert len(identifiers) == len(made.summaries)
    for summary, line in zip(made.summaries, identifiers, strict=True):
        assert line.startswith(f"**Program Identifier:** Generation {summary.generation} - Patch Name ")
        assert line.endswith(f" - Correct Program: {summary.correct}")


@given(reports)
def test_what_is_recorded_is_read_back_whatever_the_texts(made: InsightsReport) -> None:
    ended = Round(report=made, corrections=("one",))
    assert Round.model_validate(ended.model_dump(mode="json")) == ended
    assert Round.model_validate_json(ended.model_dump_json()) == ended


@given(hostile)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean_line(clean_line(text)) == clean_line(text)
    assert clean_body(clean_body(text)) == clean_body(text)


@given(hostile)
def test_the_points_of_a_section_are_all_of_it(text: str) -> None:
    written = Editor(facts=FACTS).body(text, "")
    points = insights(written, FACTS)
    assert cited(body(points)) == written
    assert all(shown(point.text) == shown(point.text).strip() for point in points)


def test_the_points_of_a_section_are_its_items_or_its_paragraphs() -> None:
    def texts(section: str) -> list[tuple[str, str]]:
        return [(point.mark, shown(point.text)) for point in insights(section, FACTS)]

    assert texts("So:\n- one\n  more\n\n1. two\n```\n- code\n```\n* [gen 5]") == [
        ("", "So:"),
        ("\n- ", "one\n  more"),
        ("\n\n1. ", "two\n```\n- code\n```"),
        ("\n* ", "generation 5 (failed: cpu_limit)"),
    ]
    assert texts("one\nmore\n\n\ntwo") == [("", "one\nmore"), ("\n\n\n", "two")]


@pytest.mark.parametrize("count", [20, 30])
def test_the_report_has_the_form_of_the_documents_that_users_know(count: int) -> None:
    known = (DATA / f"meta_after_{count}_programs.txt").read_text(encoding="utf-8")
    made = markdown(
        report(FACTS, summaries={0: "initial_program"}, sections=("a", "b", "c", "d"), recommendations=["**T**"])
    )
    ours = [line for line in made.split("\n") if line.startswith("#")]
    assert [line for line in known.split("\n") if line in ours] == ours
    for line in ("**Program Name: ", "- **Implementation**: ", "- **Performance**: ", "- **Feedback**: ", "1.  **"):
        assert f"\n{line}" in known
        assert f"\n{line}" in made
    identifier = "**Program Identifier:** Generation 0 - Patch Name initial_program - Correct Program: True"
    assert identifier in known
    assert identifier in made


def test_outcomes_of_earlier_recommendations_stand_at_the_end() -> None:
    made = report(FACTS).model_copy(update={"outcomes": ("one", "two")})
    assert markdown(made).endswith(f"# {OUTCOMES}\n\n- one\n- two\n")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("report", "summaries", 0, "generation"), "../7"),
        (("report", "summaries", 0, "generation"), True),
        (("report", "summaries", 0, "generation"), -1),
        (("report", "summaries", 0, "implementation"), "a text"),
        (("report", "summaries", 0, "more"), "unknown"),
        (("report", "scratchpad", "sections"), [[], [], []]),
        (("report", "scratchpad", "sections", 0, 0, "text", 0), 7),
        (("report", "recommendations", 0, "text"), [{"generations": [1], "shown": None}]),
        (("report", "warning"), "x" * 70_000),
        (("report",), []),
        (("pending",), {}),
        (("problems",), ["scratchpad: no"]),
    ],
)
def test_a_report_of_another_shape_is_refused(path: tuple[str | int, ...], value: object) -> None:
    made = report(FACTS, summaries={0: "It is short."}, sections=("a", "b", "c", "d"), recommendations=["**T**"])
    record = Round(report=made).model_dump(mode="json")
    place = record
    for key in path[:-1]:
        place = place[key]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    with pytest.raises(ValueError, match=str(path[0])):
        read_event({"event": "summarised", "seq": 1, "t": 0.0, "programs": 1} | record)
