"""What holds of the tests themselves."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FILES = [path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).parts[0] not in ("attacks", "data")]


def lines_with(pattern: str) -> list[str]:
    """Every line of the tests that begins with a match, as `file:line`."""
    found = re.compile(pattern)
    return [
        f"{path.relative_to(TESTS)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.match(line)
    ]


def test_a_helper_is_imported_from_a_module_of_helpers() -> None:
    """Importing it from a test module or a conftest would run or hide what else is in there."""
    assert lines_with(r"\s*from (\w+\.)*(test_\w+|conftest) import") == []


def test_how_many_examples_a_property_takes_is_up_to_the_profile() -> None:
    """A number at a test would hold in `make nightly`, too. See `tests/examples.py`."""
    assert lines_with(r"@.*max_examples\s*=") == []
