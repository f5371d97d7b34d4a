"""What tests and benchmarks print, read as untrusted text: how many tests ran, which failed, and a number. Pure."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from evaluator.repository_task import JSON_NUMBER
from evaluator.untrusted import one_line

MOST_NAMES: Final = 20
_PYTEST: Final = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+|no tests ran)(?: in [\d.:]+ ?s?.*?)\s*=*\s*$", re.M)
_PYTEST_RAN: Final = re.compile(r"(\d+) (?:passed|failed|errors?|xfailed|xpassed)\b")
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
    all matches together); None where none is found. Skipped tests do not count."""
    if pattern:
        numbers = [match[1] if match.re.groups else match[0] for match in re.finditer(pattern, output, re.M)]
        whole = [int(number) for number in numbers if number and number.isdecimal()]
        return sum(whole) if whole else None
    readers: tuple[Callable[[str], int | None], ...] = (_of_pytest, _of_unittest, _of_ctest, _of_tap)
    return next((count for reader in readers if (count := reader(output)) is not None), None)


def _of_pytest(output: str) -> int | None:
    summaries = [match[1] for match in _PYTEST.finditer(output)]
    if not summaries:
        return None
    return sum(int(number) for summary in summaries for number in _PYTEST_RAN.findall(summary))


def _of_unittest(output: str) -> int | None:
    ran = _UNITTEST.findall(output)
    return sum(map(int, ran)) - sum(map(int, _UNITTEST_SKIPPED.findall(output))) if ran else None


def _of_ctest(output: str) -> int | None:
    ran = _CTEST.findall(output)
    return sum(map(int, ran)) if ran else None


def _of_tap(output: str) -> int | None:
    return len(_TAP.findall(output)) if _TAP_PLAN.search(output) else None


def failed_tests(output: str) -> tuple[str, ...]:
    """The names of the tests that failed, as far as they are found; at most `MOST_NAMES`."""
    names = dict.fromkeys(one_line(match[1].strip(), 200) for reader in _FAILED for match in reader.finditer(output))
    return tuple(names)[:MOST_NAMES]


def printed_number(output: str, metric: str) -> float | None:
    """The last number that was printed, by `json:KEY` or a regular expression with one group; None where there is none
    above 0."""
    found = (
        _json_numbers(output, metric.removeprefix(JSON_NUMBER))
        if metric.startswith(JSON_NUMBER)
        else _matched(output, metric)
    )
    return found if found is not None and math.isfinite(found) and found > 0 else None


def _matched(output: str, pattern: str) -> float | None:
    last = None
    for match in re.finditer(pattern, output, re.M):
        try:
            last = float(match[1] if match.re.groups else match[0])
        except (TypeError, ValueError):
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
            return float(value)
    return None
