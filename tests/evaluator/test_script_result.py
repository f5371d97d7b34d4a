"""What a script writes is read as strictly as a stranger's: no number is guessed, and nothing ends in an exception."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.script_result import (
    MOST_ARTIFACTS,
    MOST_FEEDBACK,
    MOST_METRICS,
    MOST_PRIVATE,
    ResultError,
    ScriptResult,
    read_result,
)
from evaluator.untrusted import block

FINITE = st.floats(-1e100, 1e100)
JSON = st.recursive(
    st.none() | st.booleans() | FINITE | st.integers(-(10**20), 10**20) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
DOCUMENT = st.fixed_dictionaries(
    {},
    optional={
        "correct": st.booleans() | JSON,
        "combined_score": FINITE | JSON,
        "metrics": st.dictionaries(st.text(), JSON) | JSON,
        "private": JSON,
        "feedback": JSON,
        "artifacts": st.dictionaries(st.text(), JSON) | JSON,
        "other": JSON,
    },
)


def read(**document: Any) -> ScriptResult:
    return read_result(json.dumps(document).encode())


@given(FINITE)
def test_the_score_is_the_number_that_was_written_to_the_last_bit(score: float) -> None:
    assert read(correct=True, combined_score=score).score == score


@given(st.integers(-(10**30), 10**30))
def test_an_integer_is_a_number(score: int) -> None:
    assert read(correct=True, combined_score=score).score == float(score)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_result_or_get_a_reason(raw: bytes) -> None:
    try:
        read_result(raw)
    except ResultError as why:
        assert str(why).isprintable()


@given(DOCUMENT)
def test_any_document_is_a_result_or_gets_a_reason(document: dict[str, Any]) -> None:
    try:
        found = read_result(json.dumps(document).encode())
    except ResultError as why:
        assert str(why).isprintable()
        verdict = document.get("correct")
        score = document.get("combined_score")
        number = isinstance(score, int | float) and not isinstance(score, bool)
        assert not isinstance(verdict, bool) or (verdict and not number)
        return
    assert found.correct is document["correct"]
    assert (found.score is not None) is found.correct
    assert found.score is None or math.isfinite(found.score)
    given = document.get("metrics", {})
    for name, value in found.metrics.items():
        assert math.isfinite(value)
        assert value == given[name]
        assert not isinstance(given[name], bool)
    text = found.as_text()
    assert block(text, len(text)) == text  # there is nothing left to make harmless
    json.dumps(found.private)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"correct": true, "combined_score": NaN}', "NaN is not JSON"),
        ('{"correct": true, "combined_score": -Infinity}', "-Infinity is not JSON"),
        ('{"correct": true, "combined_score": 1e999}', "not a finite number"),
        (
            '{"correct": true, "combined_score": "1.5"}',
            "must be a finite number (at most 1e+100) where `correct` is true, and is str",
        ),
        (
            '{"correct": true, "combined_score": true}',
            "must be a finite number (at most 1e+100) where `correct` is true, and is true",
        ),
        ('{"correct": true, "combined_score": null}', "and is null"),
        ('{"correct": true, "combined_score": -1.7e308}', "must be a finite number (at most 1e+100) where"),
        (
            '{"correct": true}',
            "`combined_score` must be a finite number (at most 1e+100) where `correct` is true, and is missing",
        ),
        ('{"combined_score": 1.0}', "`correct` must be true or false, and is missing"),
        ('{"correct": 1, "combined_score": 1.0}', "`correct` must be true or false, and is int 1"),
        ('{"correct": "yes", "combined_score": 1.0}', "`correct` must be true or false, and is str 'yes'"),
        ('{"correct": true, "correct": true, "combined_score": 1.0}', "duplicate key"),
        ('{"correct": true, "combined_score": 1.0, "private": {"a": 1, "a": 2}}', "duplicate key"),
        ("[1.0]", "must be a JSON object, and is list"),
        ("", "not plain JSON"),
        ('{"correct": true, "combined_score": 1.0', "not plain JSON"),
        ('{"correct": true, "combined_score": 1.0} {}', "not plain JSON"),
        ("[" * 100_000, "not plain JSON"),
        ('{"private": ' + "[" * 500 + "]" * 500 + "}", "nested too deeply"),
        ("1" * 10_000, "number too long"),
    ],
)
def test_what_is_no_result_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ResultError) as caught:
        read_result(text.encode())
    assert message in str(caught.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ResultError, match=r"not UTF-8 text \(byte 2\)"):
        read_result(b'{"\xff": 1}')


def test_a_score_of_a_program_that_is_not_correct_is_not_read() -> None:
    found = read(correct=False, combined_score=float(10**9), feedback="not yet")
    assert (found.correct, found.score, found.feedback) == (False, None, "not yet")


def test_what_is_no_metric_is_left_out_with_a_line_that_says_so() -> None:
    found = read(correct=True, combined_score=1, metrics={"a": 1, "b": True, "c": "2", "d": None, "runtime_s": 3})
    assert found.metrics == {"a": 1.0}
    assert [note.partition(" was left out")[0] for note in found.notes] == [
        f"the metric {name!r}" for name in ("b", "c", "d", "runtime_s")
    ]
    assert "it is true, and must be a finite number (at most 1e+100)" in found.as_text()


def test_everything_has_its_measure() -> None:
    found = read(
        correct=True,
        combined_score=1,
        metrics={f"m{number}": number for number in range(2 * MOST_METRICS)},
        feedback="f" * 10**6,
        artifacts={f"a{number}": "x" * 10**5 for number in range(3 * MOST_ARTIFACTS)},
        private={"p": "x" * MOST_PRIVATE},
    )
    assert len(found.metrics) == MOST_METRICS
    assert len(found.as_text()) < 4 * MOST_FEEDBACK
    assert len(found.artifacts) <= MOST_ARTIFACTS
    assert found.private == {"left out": f"{MOST_PRIVATE + 9} characters of JSON; at most {MOST_PRIVATE} are kept"}
    assert "more were left out" in found.as_text()


def test_texts_are_made_harmless() -> None:
    found = read(
        correct=True,
        combined_score=1,
        feedback="red \x1b[31m\u202e\nnext",
        artifacts={"a\nb": "\ud800"},
        metrics={"\x1b": 1},
    )
    assert found.feedback == "red \\x1b[31m\\u202e\nnext"
    assert dict(found.artifacts) == {"a\\nb": "\\ud800"}
    assert found.metrics == {}


def test_where_a_judge_decides_answers_are_read_and_no_score_is() -> None:
    raw = json.dumps({"answers": [1, None], "combined_score": 10**9, "correct": True, "metrics": {"m": 1}}).encode()
    found = read_result(raw, answers=2)
    assert (found.answers, found.score, found.metrics) == ((1, None), None, {})
    for wrong in ({"answers": [1]}, {"answers": {"0": 1}}, {"correct": True, "combined_score": 1.0}):
        with pytest.raises(ResultError, match="`answers` must be a list of 2, one per instance"):
            read_result(json.dumps(wrong).encode(), answers=2)


def test_the_places_of_a_machine_are_taken_out_of_every_text() -> None:
    raw = json.dumps(
        {
            "correct": True,
            "combined_score": 1,
            "feedback": "HERE a",
            "artifacts": {"x": "HERE b"},
            "private": ["HERE c"],
        }
    )
    found = read_result(raw.encode(), without_paths=lambda text: text.replace("HERE ", ""))
    assert (found.feedback, dict(found.artifacts), found.private) == ("a", {"x": "b"}, ["c"])
