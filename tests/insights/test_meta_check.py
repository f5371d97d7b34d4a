"""No citation of a generation that is not there, and no figure of a model's own, survives the check."""

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.objective import Direction
from evolve.archive.reports import body, shown
from evolve.insights.answers import clean_body
from evolve.insights.check import UNVERIFIED, Editor
from evolve.insights.citations import insights, is_missing, resolved, with_citations
from evolve.insights.credit import Tally
from evolve.insights.evidence import Leader
from evolve.insights.facts import Details
from tests.insights.a_run import a_run

FACTS = {fact.generation: fact for fact in a_run()}


def edited(text: str, unit: str = "") -> tuple[str, list[str]]:
    editor = Editor(facts=FACTS, unit=unit)
    return shown(body(insights(editor.body(text, "Here"), FACTS))), editor.notes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- **Kicks**: [gen 99] is a breakthrough.\n- **Swaps**: [gen 5] failed.", "- **Swaps**: generation 5 (failed: cpu_limit) failed."),  # noqa: E501
        ("- Swaps help. See [gen 7 > gen 99]. They stay.", "- Swaps help. They stay."),
        ("- [gen 0, gen 99] teach this. They stay.", "- They stay."),
        ("It [gen 99]\ngoes on here. This stays,\nas [gen 5] does.", "This stays,\nas generation 5 (failed: cpu_limit) does."),  # noqa: E501
        ("[gen " + "9" * 1900 + "] is far.", ""),
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
    "claim",
    [
        "[gen 5] gained on all.", "Generation 5 leads.", "So [gen 5] is now the best.", "Generations 3 and 5 improved.",
        "[gen 3 > gen 5] gained.", "gen 5 has improved the score.", "[gen 5], still ahead, is long.",
    ],
)  # fmt: skip
def test_a_generation_without_a_correct_program_neither_gained_nor_leads(claim: str) -> None:
    text, notes = edited(f"{claim} It stays.")
    assert (text, len(notes)) == ("It stays.", 1)
    assert "Here: generation 5 has no correct program: " in notes[0]


@pytest.mark.parametrize(
    "text", ["Generation 5 gained nothing.", "Generation 5 led to a failure.", "Generation 7 leads.",
             "Generation 5 never gained.", "Generation 5 improved the order of swaps."],
)  # fmt: skip
def test_what_is_said_of_a_failure_otherwise_stays(text: str) -> None:
    assert edited(text) == (text, [])


MADE_UP = [
    "38.38", "27.48", "0.57", ".123456", "1,234.5", "7.7e-05", "84.31%", "84 %", "0.035", "37", "1000", "1,000,000",
    "3x", "3.5 x", "3\u00d7", "12 times", "40 percent", "10^6", "1e9", "0.035s", "80GB", "3-fold", "20-30 %",
    "27.48-38.38", "3-5 times", "thirty-seven", "forty", "hundred", "37 ms",
    "\u00bd", "2\u00bd", "2\u00bd times", "10\u2076", "10\u207b\u2076", "2.6\u00b2",
    "10^{6}", "2.6^{-1}", "1e1000", "1_234_567", "trillion",
    "87-percent", "87 per cent", "87pct", "5pp", "3-times", "2.60-2.65-2.70", "\u0663\u0667", "\uff18\uff17",
]  # fmt: skip


@pytest.mark.parametrize(
    "around", ["It scored {} there.", "({})", "~{}", "x = {}", "**{}**", "_{}_", "It is so. {}. It stays.", "- {}"]
)
def test_a_figure_is_replaced_and_noted_whatever_it_says(around: str) -> None:
    for figure in MADE_UP:
        text, notes = edited(around.format(figure), unit="ms")
        assert text == around.format(UNVERIFIED)
        assert notes == [f"Here: unverified figure: {figure}"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("From 2.60..2.65 to 2.60...2.65.", "From X..X to X...X."),
        ("An eighty-seven-percent win, ninety-fold.", "An X-percent win, X-fold."),
        ("0\u066b87 or \uff10\uff0e\uff18\uff17 or three hundred", "X\u066bX or X\uff0eX or three X"),
    ],
)
def test_figures_side_by_side_are_replaced_each(text: str, left: str) -> None:
    assert edited(text)[0] == left.replace("X", UNVERIFIED)


@given(st.floats(0, 1e4), st.integers(0, 4), st.sampled_from(["{}", "{} %", "{}%", "{}x", "{} times", "{} programs"]))
def test_no_made_up_figure_passes(value: float, digits: int, form: str) -> None:
    text, notes = edited(f"Kicks gave {form.format(f'{value:.{digits}f}')} in all.")
    assert not re.search(r"\d", text)
    assert len(notes) == 1


def test_true_figures_of_a_models_own_are_replaced_too() -> None:
    assert edited("It scored 26.248034, and 50 instances succeed.")[0] == (
        f"It scored {UNVERIFIED}, and {UNVERIFIED} instances succeed."
    )


@pytest.mark.parametrize(
    "text",
    [
        "A 2-opt move, 1-1 and 2-1 swaps, swap(1-2), 1-to-2, or-3opt; O(n^2), O(1), O(n log n), O(n log(2 n)) time.",
        "By gpt-4, gpt-3.5-turbo, GPT-4o, llama3, utf8, int64, model_1, x^2, 3x3, 2D, n^{2}, Python 3.12.1.",
        "Cool by `0.5511` and ``0.5512``.",
        "1. First.\n2) Second.\n   3.  **Third**.\n### 4. Fourth\n- 5. Fifth",
        "It is so.\n\n2. One, two or twelve of them.",
        "Generation 7 did, generations 2, 3 and 4 (Gen 2, 3, 5) did not.",
        "```\nx = 38.38\n```",
        f"It had {UNVERIFIED} before.",
    ],
)
def test_names_code_and_numbers_of_items_stay(text: str) -> None:
    assert edited(text) == (text, [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[gen 7].score, as", "26.2480 (score of generation 7), as"),
        ("[gen 7].change.", "0.0070 better (change of generation 7)."),
        ("[gen 12].gap", "0.0079 (gap of generation 12)"),
        ("[gen 7].success_rate", "1 (success_rate of generation 7)"),
        ("[gen 5].score", "generation 5 (failed: cpu_limit)"),
        ("99.9 (score of generation 7)", "26.2480 (score of generation 7)"),
    ],
)
def test_code_fills_in_a_figure_that_is_cited(text: str, shown: str) -> None:
    once, notes = edited(text)
    assert (once, notes) == (shown, [])
    assert edited(once) == (shown, [])


@pytest.mark.parametrize("text", ["Generation 99 is a breakthrough.", "Generations 2 and 99 are."])
def test_a_generation_that_is_named_without_a_citation_must_exist(text: str) -> None:
    assert edited(f"{text} They stay.") == ("They stay.", [f"Here: no such generation: {text}"])


pieces = st.sampled_from(
    ["[gen 7]", "[gen 99]", "[gen 2 > gen 4]", "[gen 3, gen 98]", "generation 7 (9.99, 1.5 better than its parent)",
     "38.38", "26.25", "`26.99`", "`", "```\n", "~~", "~", "\n- ", "\n\n", ". ", "! ", "\n", "1. ", "# x", "[", "]",
     " > ", "%", UNVERIFIED, "[gen 7].score", "e-05", "7.1", "3x", "37", "generation 7"]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=8), max_size=14).map("".join)


@given(texts)
def test_whatever_the_text_no_decimal_of_its_own_is_left_in_prose(text: str) -> None:
    checked, _ = edited(text)
    prose = re.sub(r"(?ms)^ {0,3}(`{3,}(?=[^`\n]*\n)|~{3,}).*?\n(.*?^ {0,3}\1[`~]*[ \t]*$|.*\Z)", " ", checked)
    prose = re.sub(r"(?<!`)(`+)(?!`)[^`\n]+(?<!`)\1(?!`)", " ", prose)
    for citation in re.findall(r"\[gen [^\]]*\]", with_citations(prose)):
        assert not re.fullmatch(r"\[gen \d+( > gen \d+)*\]", citation) or not is_missing(citation, FACTS)
    alone = re.findall(r"(?<![\w.^-])\d+\.\d+(?![\w.^-])", re.sub(r"\[[^\]]*\]", " ", with_citations(prose)))
    assert not alone, checked


@given(texts)
def test_checking_twice_changes_nothing_more(text: str) -> None:
    once, _ = edited(text)
    assert clean_body(once) == once
    again, notes = edited(once)
    assert (again, [note for note in notes if "no such" in note]) == (once, [])


@given(texts)
@example("generation 7[gen 7].score")
@example("e-05[gen 7].score")
def test_a_line_stays_one_line(text: str) -> None:
    editor = Editor(facts=FACTS)
    line = shown(resolved(editor.line(text, "Here"), FACTS))
    assert "\n" not in line
    assert shown(resolved(editor.line(line, "Here"), FACTS)) == line


RECORD = {
    4: Details(source="STEPS = 1_000\nT = 100\n", costs=((9, 1), (5, 1), None), direction=Direction.MINIMISE),
    7: Details(
        source="STEPS = 2000\nT = 0.35\nreturn n-7\n", costs=((8, 1), (6, 1), None), direction=Direction.MINIMISE
    ),
}
TALLIED = FACTS | {7: dataclasses.replace(FACTS[7], base_generation=4, wins=Tally(1, 1, 1))}


def held_against(text: str, **how: Any) -> tuple[str, list[str]]:
    editor = Editor(facts=TALLIED, details=lambda generation: RECORD.get(generation, Details()))
    return editor.line(text, "Here", **how), editor.notes


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("[gen 7] swapped neighbours, instance 1 worse.", None),
        ("[gen 7] swapped neighbours, instance 0 worse.", "not worse on instance 0"),
        ("[gen 7] is worse on instances 1, 0 and 2.", "not worse on instance 0"),
        ("[gen 4 > gen 7] got better on instance 0.", None),
        ("[gen 4 > gen 7] got better on [instance 1].", "not better on instance 1"),
        ("[gen 7] is not better on instance 1.", None),
        ("Instance 2 is much better in generation 7.", "not better on instance 2"),
        ("[gen 7] or [gen 2] is better on instance 0.", None),
        ("[gen 2] is better on instance 1, of which nothing is known.", None),
        ("Nothing is worse on instance 0 for anybody.", None),
    ],
)
def test_what_is_said_of_an_instance_is_held_against_the_record(text: str, denied: str | None) -> None:
    left, notes = held_against(f"{text} It stays.")
    assert notes == ([] if denied is None else [f"Here: {denied}: {text}"])
    assert left.endswith("It stays.") and (denied is None) == (left != "It stays.")


def test_a_summary_is_about_its_own_program() -> None:
    assert held_against("Instance 0 got worse.", of=7)[1] == ["Here: not worse on instance 0: Instance 0 got worse."]
    assert held_against("It has `T = 0.36`.", of=7)[0] == f"It has {UNVERIFIED}."


def test_an_instance_that_does_not_exist_is_a_figure() -> None:
    assert held_against("See instance 2 and instance 38.")[0] == f"See instance 2 and instance {UNVERIFIED}."


def test_a_cited_instance_gets_its_best_cost_and_whose_it_is() -> None:
    leaders = [Leader(7, "8"), Leader(2, "-7/3")]
    editor = Editor(facts=TALLIED, leaders=leaders, details=lambda generation: RECORD.get(generation, Details()))
    text = "On [Instance 1] and [instance 0], [gen 7] is worse on [instance 1]; [instance 2] and [instance 9] too."
    line = editor.line(text, "Here")
    first, second = "instance 0 (8 at best, by generation 7)", "instance 1 (-2.3333 at best, by generation 2)"
    filled = shown(resolved(line, FACTS, leaders))
    assert filled.startswith(f"On {second} and {first}, generation 7 (")
    assert filled.endswith(f" is worse on {second}; instance 2 and instance {UNVERIFIED} too.")
    assert editor.notes == ["Here: no such instance: [instance 9]"]
    assert editor.line(filled, "Here") == line  # as a model that copies it is understood
    assert shown(resolved("`[instance 0]`, [instance 5]", FACTS, leaders)) == "`[instance 0]`, [instance 5]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[gen 7] has `T = 0.35` and `STEPS = 2_000`.", None),
        ("[gen 7] cut `T = 100` of its parent's [gen 4].", None),
        ("[gen 7] runs `150_000` steps.", f"[gen 7] runs {UNVERIFIED} steps."),
        ("Generation 4 has `T = 0.35`.", f"Generation 4 has {UNVERIFIED}."),
        ("[gen 7] subtracts `7`, as `2-opt`, `x1` and `best` do.", None),
        ("`T = 0.5` of nothing that is cited; and [gen 2], which cannot be looked up, has `3`.", None),
    ],
)
def test_a_constant_stands_in_the_program_that_is_cited(text: str, left: str | None) -> None:
    assert held_against(text)[0] == (left or text)
    assert held_against(text, advice=True) == (text, [])  # which may propose values
