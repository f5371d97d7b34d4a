"""What tests and benchmarks print: counts, names and numbers are read as a person would read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.repository.matching import PatternTooSlow, found_by
from evaluator.repository.printed import MOST_NAMES, count_tests, failed_tests, printed_number


@pytest.mark.parametrize(
    ("output", "count"),
    [
        ("...\n12 passed in 0.97s", 12),
        ("==== 3 failed, 30 passed, 2 skipped, 1 xfailed in 61.20s (0:01:01) ====", 34),
        ("= 1 passed, 1 warning in 0.10s =", 1),
        ("no tests ran in 0.01s", 0),
        ("==== 5 deselected in 0.02s ====", 0),
        ("==== 2 passed in 1s ====\n==== 3 passed in 1s ====", 5),
        ("Ran 33 tests in 0.001s\n\nOK (skipped=2)", 31),
        ("Ran 1 test in 0.001s\n\nFAILED (failures=1, skipped=1)", 0),
        ("Ran 0 tests in 0.000s\n\nOK", 0),
        ("100% tests passed, 0 tests failed out of 12\n", 12),
        ("1..3\nok 1 - nothing\nnot ok 2 - one\nok 3 # SKIP no time\n", 2),
        ("all good", None),
        ("I passed 3 exams in 2 days", None),
        ("9" * 5000 + " passed in 1s", 0),
        ("9" * 60_000 + " x in 1s", 0),
        ("Ran " + "9" * 5000 + " tests in 0.1s", None),
        ("\n" * 60_000 + "1 passed in 1" + " " * 60_000, 1),
        ("", None),
    ],
)
def test_tests_are_counted(output: str, count: int | None) -> None:
    assert count_tests(output) == count


@pytest.mark.parametrize(
    ("pattern", "output", "count"),
    [
        (r"checked (\d+)", "checked 4\nchecked 5\n", 9),
        (r"^ok$", "ok\n", None),
        (r"\d+", "7", 7),
        (r"\d+", "9" * 5000, None),
        (r"(a)?\d", "1 a2", None),
        (r"checked (\d+)", "12 passed in 1s", None),
    ],
)
def test_a_pattern_counts(pattern: str, output: str, count: int | None) -> None:
    assert count_tests(output, pattern) == count


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            "FAILED tests/test_a.py::test_b[1-2] - assert 1 == 2\nERROR tests/test_c.py - ImportError",
            ("tests/test_a.py::test_b[1-2]", "tests/test_c.py"),
        ),
        (
            "FAIL: test_it (check.Works.test_it)\nERROR: test_b (x.Y)\nFAILED (errors=1)",
            ("test_it (check.Works.test_it)", "test_b (x.Y)"),
        ),
        ("not ok 2 - adds\nok 3\n", ("2 - adds",)),
        ("The following tests FAILED:\n\t  3 - unit (Failed)\n", ("unit",)),
        ("all is well", ()),
    ],
)
def test_failed_tests_are_named(output: str, names: tuple[str, ...]) -> None:
    assert failed_tests(output) == names


@pytest.mark.parametrize(
    ("output", "metric", "number"),
    [
        ("took 3.5 s\ntook 4.5 s\n", r"took ([\d.]+)", 4.5),
        ("took a while", r"took (\w+)", None),
        ('noise\n{"a": {"b": 2}}\n', "json:a.b", 2.0),
        ('{\n "a": 3\n}\n', "json:a", 3.0),
        ('{"a": true}', "json:a", None),
        ('{"a": 0}', "json:a", None),
        ("-3", r"-?\d+", None),
        ('{"a": 1e999}', "json:a", None),
        ('{"a": 1' + "0" * 400 + "}", "json:a", None),
        ("1e-320", r".+", None),
        ("1e300", r".+", None),
        ("\ud800\n3", r"^\d", 3.0),
        ("[1]", "json:a", None),
    ],
)
def test_the_last_number_above_zero_is_read(output: str, metric: str, number: float | None) -> None:
    assert printed_number(output, metric) == number


def test_a_pattern_that_takes_exponential_time_is_stopped() -> None:
    with pytest.raises(PatternTooSlow, match=r"'\(a\+\)\+\$' takes more than 2 s on what was printed"):
        found_by("(a+)+$", "a" * 60 + "b")


@given(st.text())
def test_any_output_is_read(output: str) -> None:
    assert (count_tests(output) or 0) >= 0
    assert len(failed_tests(output)) <= MOST_NAMES
    assert (printed_number(output, "json:a") or 1) > 0
