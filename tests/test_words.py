"""The project speaks plain English: no word of `forbidden_words.txt` in names, strings, comments, prompts or pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
LINES = (TESTS / "forbidden_words.txt").read_text(encoding="utf-8").splitlines()
WORDS = [line for line in LINES if not line.startswith("#")]
SUFFIXES = {".py", ".js", ".j2", ".md", ".html", ".css", ".toml"}

# Everything in the repository, apart from what a digest or a record holds.
# A changed word there would be another program or another task.
READ = ("evaluator", "evolve", "prompts", "programs", "tests", "docs", "*.md", "Makefile", "pyproject.toml")
IN_DIGESTS = (
    re.compile(r"programs/\w+/(families|ingredients)/\w+\.py"),
    re.compile(r"evaluator/tasks/\w+/(judge|adapter|evaluate)\.py"),
)
# Names of such a program, in a test of it.
NAMED_FROM_THERE = {"tests/evaluator/tasks/txn_scheduling/test_txn_programs.py"}
# Names that are not ours to choose, and are not looked at.
FOREIGN: tuple[str, ...] = ()

# A phrase may be one name, or go over two lines of a comment.
_GAP = r"[\s_#*/\"']+"
_WORD = "|".join(word.replace(" ", _GAP) for word in WORDS)
_FORBIDDEN = re.compile(rf"(?<![a-z])(?:{_WORD})s?(?![a-z])", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|\\[nrt]")


def forbidden(text: str) -> Iterator[tuple[int, str]]:
    """Each forbidden word with its line. Names are split at `_` and where a capital letter begins a word."""
    for name in FOREIGN:
        text = text.replace(name, "")
    split = _HUMP.sub(" ", text)
    for match in _FORBIDDEN.finditer(split):
        yield split.count("\n", 0, match.start()) + 1, " ".join(re.split(_GAP, match[0])).lower()


def files(where: str) -> Iterator[tuple[str, Path]]:
    """Name and path of the files, of a folder too, in which words are looked for."""
    for path in ROOT.glob(where):
        inside = [path] if path.is_file() else sorted(path.rglob("*"))
        for each in inside:
            name = each.relative_to(ROOT).as_posix()
            looked_at = each.suffix in SUFFIXES or each == path
            if each.is_file() and looked_at and not any(held.fullmatch(name) for held in IN_DIGESTS):
                yield name, each


@pytest.mark.parametrize("where", READ)
def test_no_forbidden_word_is_used(where: str) -> None:
    paths = dict(files(where))
    assert paths, "nothing to read"
    used = [
        f"{name}:{line}: {word}"
        for name, path in paths.items()
        if name not in NAMED_FROM_THERE
        for line, word in forbidden(path.read_text(encoding="utf-8"))
    ]
    assert used == []


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_in_every_place(word: str) -> None:
    name, title = word.replace(" ", "_"), word.title().replace(" ", "")
    lines = [
        *(f"x = {name}", f"def is_{name}_set(): ...", f"class Old{title}Value: ...", f"{name.upper()} = 1"),
        *(
            f'"""A {word}."""',
            f"raise ValueError('\\n{word}')",
            f"const the{title}Of = 1  // not pre{name} or {name}less",
        ),
    ]
    assert list(forbidden("\n".join(lines))) == [(number, word) for number in range(1, len(lines) + 1)]
    assert list(forbidden(f"{name}s")) == [(1, f"{word}s")]


def test_a_phrase_is_found_across_lines() -> None:
    phrase = next(word for word in WORDS if " " in word)
    first, _, last = phrase.partition(" ")
    assert list(forbidden(f"# a {first}\n    # {last}")) == [(1, phrase)]
