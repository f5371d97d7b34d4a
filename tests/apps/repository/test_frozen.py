"""Which files no program may change, by their names and by the commands."""

import pytest

from evaluator.frozen_files import why_frozen
from evolve.apps.repository.making import check_edit
from evolve.core.errors import InputError

COMMANDS = ["python -m pytest -q checks/all.py::test_a", "python -m perf.run --fast", "make bench"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/a.py", None),
        ("src/contest.py", None),
        ("tests/helpers.py", "a test"),
        ("src/test_a.py", "a test"),
        ("src/a_test.go", "a test"),
        ("conftest.py", "a test"),
        ("sitecustomize.py", "loaded by Python before everything else"),
        ("pyproject.toml", "configuration"),
        (".github/x.yml", None),
        (".coveragerc", "configuration"),
        ("poetry.lock", "a lock file"),
        ("setup.py", "a build script"),
        ("lib/Makefile", "a build script"),
        ("checks/all.py", "run by one of the commands"),
        ("perf/run.py", "run by one of the commands"),
    ],
)
def test_what_decides_a_score_is_frozen(path: str, why: str | None) -> None:
    assert why_frozen(path, COMMANDS) == why


def test_a_pattern_that_matches_nothing_or_a_frozen_file_is_refused() -> None:
    paths = ["src/a.py", "src/test_a.py"]
    check_edit(paths, ["src/a.*"], COMMANDS)
    with pytest.raises(InputError, match="matches no tracked file"):
        check_edit(paths, ["lib/*"], COMMANDS)
    with pytest.raises(InputError, match=r"matches src/test_a.py, which may not change: it is a test"):
        check_edit(paths, ["src/*"], COMMANDS)
