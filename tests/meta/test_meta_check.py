"""No citation of a generation that is not there, and no decimal that is not on record, survives the check."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evolve.evidence.counted import Evidence
from evolve.evidence.facts import Fact
from evolve.meta.check import NOT_ON_RECORD, Editor, Figures
from evolve.meta.citations import is_missing, with_citations
from evolve.meta.document import clean_body
from tests.meta.a_run import a_run

FACTS = a_run()
EVIDENCE = Evidence(FACTS)
FIGURES = Figures(EVIDENCE, FACTS, best_source="ALPHA = 0.987654321\n")


def edited(text: str) -> tuple[str, list[str]]:
    editor = Editor(evidence=EVIDENCE, figures=FIGURES)
    return editor.body(text, "Here"), editor.notes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- **Kicks**: [gen 99] is a breakthrough.\n- **Swaps**: [gen 5] failed.", "- **Swaps**: generation 5 (failed: cpu_limit) failed."),  # noqa: E501
        ("- Swaps help. See [gen 7 > gen 99]. They stay.", "- Swaps help. They stay."),
        ("- [gen 0, gen 99] teach this. They stay.", "- They stay."),
        ("It [gen 99]\ngoes on here. This stays,\nas [gen 5] does.", "This stays,\nas generation 5 (failed: cpu_limit) does."),  # noqa: E501
        ("[gen " + "9" * 5000 + "] is far.", ""),
        ("| a | [gen 99] |\n| b | [gen 5] |", "| b | generation 5 (failed: cpu_limit) |"),
        ("See `[gen 5]`.", "See generation 5 (failed: cpu_limit)."),
        ("```\n[gen 99] = 38.38\n```", "```\n[gen 99] = 38.38\n```"),
        ("Use `a. [gen 99]. b` twice.", "Use `a. [gen 99]. b` twice."),
        ("Use `a. b` as [gen 99] did. So.", "So."),
    ],
)  # fmt: skip
def test_a_generation_that_does_not_exist_takes_its_sentence_with_it(text: str, left: str) -> None:
    assert edited(text)[0] == left


@pytest.mark.parametrize(
    "number", ["38.38", "27.48", "26.24804", ".123456", "1,234.5", "7.7e-05", "84.31%", "0.035", "26.2481", "3.14159"]
)
@pytest.mark.parametrize("around", ["It scored {}.", "({})", "~{}", "-{} lost", "x = {}", "from {}-fold", "**{}**"])
def test_a_decimal_that_is_not_on_record_is_struck(number: str, around: str) -> None:
    text, notes = edited(around.format(number))
    assert f"~~{number}~~ {NOT_ON_RECORD}" in text
    assert notes == [f"Here: not on record: {number}"]


@pytest.mark.parametrize(
    "text",
    [
        "It scored 26.248034, or 26.248, or 26.25, or 26.2; lost -0.0231; the ceiling is 26.256.",
        "A gap of 0.007938; a mean change of +0.5975.",
        "All instances succeed (100.0%, or 1.0); half of them: 50.0%.",
        "As the evaluator says: instance 17 at 0.0412 against 0.0391.",
        "Cool by 0.9877, as the program does.",
        "Cool by `0.5511` and ``0.5512``.",
        "Integers: 38, 5000, generation 99, [3], 1e9, 10 of 12.",
        "Version 3.12.1, x26.9, 1.2.3.4",
        f"It had ~~38.38~~ {NOT_ON_RECORD} before.",
    ],
)
def test_what_is_on_record_and_what_is_no_decimal_stays(text: str) -> None:
    assert edited(text) == (text, [])


def test_a_quarantined_score_and_the_words_of_a_failing_program_are_not_on_record() -> None:
    assert not FIGURES.hold(38.38, 2)
    told = [Fact(**{name: getattr(FACTS[5], name) for name in FACTS[5].__slots__} | {"feedback": "I scored 77.77"})]
    assert not Figures(EVIDENCE, told).hold(77.77, 2)


@given(st.sampled_from([fact for fact in FACTS if fact.correct]), st.integers(1, 6))
def test_a_recorded_score_may_be_quoted_at_any_precision(fact: Fact, digits: int) -> None:
    text = f"It has {fact.combined_score:.{digits}f}."
    assert edited(text) == (text, [])


pieces = st.sampled_from(
    ["[gen 7]", "[gen 99]", "[gen 2 > gen 4]", "[gen 3, gen 98]", "generation 7 (9.99, +1.5 on its parent)", "38.38",
     "26.25", "`26.99`", "`", "```\n", "~~", "~", "\n- ", "\n\n", ". ", "! ", "\n", "1. ", "# x", "[", "]", " > ", "%",
     f"~~1.5~~ {NOT_ON_RECORD}", "e-05", "7.1"]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=8), max_size=14).map("".join)


@given(texts)
def test_whatever_the_text_every_number_in_it_is_true_or_struck(text: str) -> None:
    checked, _ = edited(text)
    prose = re.sub(r"(?ms)^ {0,3}(`{3,}(?=[^`\n]*\n)|~{3,}).*?\n(.*?^ {0,3}\1[`~]*[ \t]*$|.*\Z)", " ", checked)
    prose = re.sub(r"(?<!`)(`+)(?!`)[^`\n]+(?<!`)\1(?!`)", " ", prose)
    prose = re.sub(rf"~~[^~\n]+~~ {re.escape(NOT_ON_RECORD)}", " ", prose)
    for citation in re.findall(r"\[gen [^\]]*\]", with_citations(prose)):
        assert not re.fullmatch(r"\[gen \d+( > gen \d+)*\]", citation) or not is_missing(citation, EVIDENCE.facts)
    for number in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", re.sub(r"\[[^\]]*\]", " ", with_citations(prose))):
        assert FIGURES.hold(float(number), len(number.partition(".")[2])), (number, checked)


@example("26.25~~1.5~~ [not on record]")
@example("~~~~1.5~~ [not on record]")
@given(texts)
def test_checking_twice_changes_nothing_more(text: str) -> None:
    once, _ = edited(text)
    assert clean_body(once) == once
    again, notes = edited(once)
    assert (again, [note for note in notes if "no such" in note]) == (once, [])


@given(texts)
def test_a_line_stays_one_line(text: str) -> None:
    editor = Editor(evidence=EVIDENCE, figures=FIGURES)
    line = editor.line(text, "Here")
    assert "\n" not in line
    assert editor.line(line, "Here") == line
