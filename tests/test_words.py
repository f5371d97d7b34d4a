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

# Folders and files without forbidden words, apart from those in UNCLEAN. A cleaned folder is added here.
CLEAN = [
    *("evolve/__init__.py", "evolve/__main__.py", "evolve/api.py", "evolve/opening.py", "evolve/progress.py"),
    *("evolve/proposal.py", "evolve/seams.py", "evolve/trust.py", "evolve/cli"),
    *("evolve/archive", "evolve/core", "evolve/lang", "evolve/patch"),
    *("tests/archive", "tests/core", "tests/lang", "tests/patch"),
    *("tests/benchmarks", "tests/cli", "tests/seams", "pyproject.toml"),
    *(f"tests/{path.name}" for path in TESTS.glob("*.py")),
]
# Files that use a name of a folder that is not clean yet.
UNCLEAN = {
    "evolve/cli/options.py",
    *("tests/cli/test_certificates.py", "tests/cli/test_interactive_task.py", "tests/cli/test_new.py"),
    *("tests/cli/test_new_from_others.py", "tests/test_tables.py"),
}
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


def files(where: str) -> list[Path]:
    """The file, or the files of a folder, in which words are looked for."""
    path = ROOT / where
    inside = [path] if path.is_file() else sorted(path.rglob("*"))
    return [each for each in inside if each.suffix in SUFFIXES and "__pycache__" not in each.parts]


@pytest.mark.parametrize("where", CLEAN)
def test_no_forbidden_word_is_used(where: str) -> None:
    paths = files(where)
    assert paths, "nothing to read"
    used = [
        f"{name}:{line}: {word}"
        for path in paths
        if (name := path.relative_to(ROOT).as_posix()) not in UNCLEAN
        for line, word in forbidden(path.read_text(encoding="utf-8"))
    ]
    assert used == []


def test_a_file_that_has_become_clean_is_taken_off_the_list() -> None:
    assert [name for name in UNCLEAN if not any(forbidden((ROOT / name).read_text(encoding="utf-8")))] == []


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
