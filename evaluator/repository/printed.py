"""What tests and benchmarks print, read as untrusted text: how many tests ran, which failed, and a number."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from evaluator.repository.matching import found_by
from evaluator.repository_task import JSON
from evaluator.untrusted import one_line

MOST_NAMES: Final = 20
LEAST_NUMBER: Final = 1e-40
MOST_NUMBER: Final = 1e40
"""Printed numbers that count lie between these: so the ratio of any two can be a score."""
_DIGITS: Final = 9
"""The most digits of a number of tests: more can become no float, and thousands no number."""
_PYTEST: Final = re.compile(r"^=*[ \t]*((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.:]", re.M)
_PYTEST_RAN: Final = re.compile(r"(?<!\d)(\d+) (?:passed|failed|errors?|xfailed|xpassed)\b")
_UNITTEST: Final = re.compile(r"^Ran (\d+) tests? in ", re.M)
_UNITTEST_SKIPPED: Final = re.compile(r"^(?:OK|FAILED) \(.*?\bskipped=(\d+)", re.M)
_CTEST: Final = re.compile(r"^\d+% tests passed, \d+ tests failed out of (\d+)", re.M)
_TAP_PLAN: Final = re.compile(r"^1\.\.\d+", re.M)
_TAP: Final = re.compile(r"^(?:not )?ok\b(?!.*# *skip)", re.M | re.I)
_FAILED: Final = (
    re.compile(r"^(?:FAILED|ERROR) ([^\s(].*?)(?: - .*)?$", re.M),
    re.compile(r"^(?:FAIL|ERROR): (\S.*)$", re.M),
    re.compile(r"^not ok\b\s*(\d*.*)$", re.M),
    re.compile(r"^\t *\d+ - (\S+) \([A-Z].*\)$", re.M),
)


def count_tests(output: str, pattern: str = "") -> int | None:
    """The number of tests that ran, by the summary of pytest, unittest, ctest or TAP, or by a pattern (its first group,
    all matches together); None where none is found. Skipped tests do not count. Raises PatternTooSlow."""
    if pattern:
        return _sum(found_by(pattern, output))
    readers: tuple[Callable[[str], int | None], ...] = (_of_pytest, _of_unittest, _of_ctest, _of_tap)
    return next((count for reader in readers if (count := reader(output)) is not None), None)


def _sum(found: Iterable[str | None]) -> int | None:
    """The sum of those that are whole numbers; None without any."""
    whole = [int(text) for text in found if text and text.isdecimal() and len(text) <= _DIGITS]
    return sum(whole) if whole else None


def _of_pytest(output: str) -> int | None:
    summaries = [match[1] for match in _PYTEST.finditer(output)]
    if not summaries:
        return None
    return _sum(number for summary in summaries for number in _PYTEST_RAN.findall(summary)) or 0


def _of_unittest(output: str) -> int | None:
    ran = _sum(_UNITTEST.findall(output))
    return None if ran is None else ran - (_sum(_UNITTEST_SKIPPED.findall(output)) or 0)


def _of_ctest(output: str) -> int | None:
    return _sum(_CTEST.findall(output))


def _of_tap(output: str) -> int | None:
    return len(_TAP.findall(output)) if _TAP_PLAN.search(output) else None


def failed_tests(output: str) -> tuple[str, ...]:
    """The names of the tests that failed, as far as they are found; at most `MOST_NAMES`."""
    names = dict.fromkeys(one_line(match[1].strip(), 200) for reader in _FAILED for match in reader.finditer(output))
    return tuple(names)[:MOST_NAMES]


def printed_number(output: str, metric: str) -> float | None:
    """The last number that was printed, by `json:KEY` or a regular expression with one group; None where there is none
    between `LEAST_NUMBER` and `MOST_NUMBER`. Raises PatternTooSlow."""
    found = _json_numbers(output, metric.removeprefix(JSON)) if metric.startswith(JSON) else _matched(output, metric)
    return found if found is not None and LEAST_NUMBER <= found <= MOST_NUMBER else None


def _matched(output: str, pattern: str) -> float | None:
    last = None
    for text in found_by(pattern, output):
        try:
            last = float(text or "")
        except ValueError:
            continue
    return last


def _json_numbers(output: str, key: str) -> float | None:
    for text in (output, *reversed(output.splitlines())):
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if value <= MOST_NUMBER else math.inf  # a whole number may be larger than a float
    return None
