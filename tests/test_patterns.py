"""Patterns see texts of a limited length only, and `tests.benchmarks.patterns` tries every one of them.

That benchmark, run by hand, measures. Here is held that it leaves no pattern out, and that what it takes for the
longest text of a pattern is the longest one.
"""

import ast
import json
import re
from collections.abc import Mapping

import pytest

from evaluator.script_result import MOST_FEEDBACK, MOST_PRIVATE, read_result
from evolve.archive.reports import SECTIONS
from evolve.core.completion import LINE_LIMIT, PROSE_LIMIT, Completion, text_of
from evolve.insights.answers import (
    clean_body,
    clean_line,
    read_insights,
    read_summaries,
)
from evolve.lang.languages import LANGUAGES, language_of
from evolve.lang.literals import literals
from evolve.propose.adapting import MOST_TEXT, parse_error_body
from tests.benchmarks import patterns


@pytest.fixture(scope="module")
def trees() -> Mapping[str, ast.Module]:
    return patterns.sources()


def test_every_pattern_of_the_source_is_measured(trees: Mapping[str, ast.Module]) -> None:
    names = {found.name for found in patterns.collected()}
    calls = patterns.calls(trees)
    assert len(calls) > 80
    missing = [f"{call.name}, line {call.line}" for call in calls if call.name not in names]
    assert missing == [], "make them variables of their modules, or add how they are made to MADE"


def test_what_a_function_makes_of_its_arguments_is_listed(trees: Mapping[str, ast.Module]) -> None:
    calls = patterns.calls(trees)
    made = {call.name for call in calls if call.inside and patterns.evaluated(call) is None}
    assert made - patterns.MADE.keys() == set()
    assert patterns.MADE.keys() - {call.name for call in calls} == set()  # and nothing else is


def test_patterns_are_made_by_no_other_name(trees: Mapping[str, ast.Module]) -> None:
    """The scan reads `re.compile(...)` and the like."""
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.module != "re", module
            elif isinstance(node, ast.Import):
                assert not any(alias.name == "re" and alias.asname for alias in node.names), module
                assert not any(alias.name in ("regex", "re2") for alias in node.names), module


def test_each_limit_is_one_of_a_pattern_that_there_is() -> None:
    assert patterns.LIMITS.keys() - {found.name for found in patterns.collected()} == set()


@pytest.mark.parametrize("source", [r"(?:/[\w.]+)*/x", r"a\s*\s*b", r"\*{2,}Name", r"(a*)*b"])
def test_a_pattern_that_takes_long_is_found(source: str) -> None:
    """The texts that a parse tree suggests hold one that is bad for the pattern: many of what is repeated."""
    hostile = [body * 3 for _, body, _ in patterns.texts(re.compile(source))]
    assert any(re.compile(rf"(?:{part})+").fullmatch(text) for text in hostile for part in ("/a", " ", r"\*", "a"))


# -- limits ------------------------------------------------------------------------------------------------------------


def test_an_answer_in_prose_is_cut_and_its_lines_too() -> None:
    text = text_of(Completion(text=f"first\n{'x' * 3 * LINE_LIMIT}\n" + "line\n" * PROSE_LIMIT))
    assert text.startswith("first\nxxx")
    assert len(text) < PROSE_LIMIT + 100
    assert max(map(len, text.split("\n"))) < LINE_LIMIT + 100
    assert text.endswith("characters cut]")


@pytest.mark.parametrize("text", ["x" * 10_000, "<a" * 10_000, "** Program Name" * 10_000, "](" * 10_000])
def test_a_line_of_a_report_is_cut(text: str) -> None:
    line = clean_line(text)
    assert len(line) <= LINE_LIMIT
    assert line.endswith(" [...]")
    assert clean_line(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000,
        "<a" * 200_000,
        "# " + "x" * 10_000,
        "```\n" + "#\n" * 100_000,
        "a\n" * 100_000,
        "```" + "<a" * 990 + "`\n# x",
        "\x1b" * 50_000,
        "`" * 5000 + "\nx\n" * 40_000,
        "\n" * 70_000 + "x",
    ],
)
def test_a_section_of_a_report_is_cut_line_by_line_and_as_a_whole(text: str) -> None:
    body = clean_body(text)
    assert len(body) <= PROSE_LIMIT
    assert max(map(len, body.split("\n"))) <= LINE_LIMIT
    assert clean_body(body) == body


def test_blanks_in_an_answer_take_no_time() -> None:
    """Each of these took minutes, or for ever."""
    blanks = " " * 60_000
    for line in (f"#{blanks}\u00e9", f"**Program Name:{blanks}x{blanks}\u00e9", f"{blanks}-{blanks}**", "*" * 60_000):
        assert len(read_summaries(f"{line}\nGeneration 1{blanks}x\n{line}", [1, 2])) <= 1
        assert read_insights(line)[1] == ()
    pad, _ = read_insights("\n".join(f"## {title}{blanks}\n- x{blanks}" for title in SECTIONS))
    assert [clean_body(section) for section in pad[1:]] == ["- x"] * len(SECTIONS)


def test_feedback_is_cut_before_paths_are_looked_for() -> None:
    seen: list[str] = []

    def without_paths(text: str) -> str:
        seen.append(text)
        return text

    long = "/a" * 128 * 1024
    raw = {"correct": True, "combined_score": 1, "feedback": long, "artifacts": {"log": long}, "private": [long]}
    result = read_result(json.dumps(raw).encode(), without_paths=without_paths)
    assert len(seen) == 3
    assert max(map(len, seen)) <= MOST_FEEDBACK + 4096 < MOST_PRIVATE
    assert result.feedback.startswith("/a/a")
    assert len(result.feedback) < MOST_FEEDBACK + 100
    assert "characters cut]" in result.feedback
    assert "left out" in result.private


def test_a_path_at_the_end_of_what_is_read_of_feedback_is_not_cut_apart() -> None:
    words = "/tmp/evolve-scratch-abc/log " * 1000
    raw = {"correct": True, "combined_score": 1, "feedback": words}
    found = read_result(
        json.dumps(raw).encode(), without_paths=lambda text: text.replace("/tmp/evolve-scratch-abc/", "")
    )
    assert set(found.feedback.partition(" [...")[0].split()) == {"log"}
    kept = found.feedback.partition(" [...")[0]
    read = len(kept) // len("log ") * len("/tmp/evolve-scratch-abc/log ")
    assert f"[... {len(words.strip()) - read}" in found.feedback or "characters cut]" in found.feedback


def test_what_an_endpoint_says_of_an_error_is_cut() -> None:
    assert (
        len(parse_error_body({"error": {"message": "x" * 100_000, "detail": ["y" * 100_000] * 50}}).text) == MOST_TEXT
    )


@pytest.mark.parametrize("suffix", sorted({one.suffixes[0] for one in LANGUAGES if one.has_grammar}))
def test_the_name_of_a_number_is_looked_for_near_it(suffix: str) -> None:
    language = language_of(f"x{suffix}")
    far = literals(f"RATE{' ' * 300}= 1\n", language)
    assert all(literal.name is None for literal in far)
