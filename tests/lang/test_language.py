"""Programs of any language: where they may evolve, when two are the same, and which numbers they hold."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import ProgramError
from evolve.core.program import END, START, check_program, evolve_regions, marker, normalised_hash, split_lines
from evolve.lang.languages import LANGUAGES, PYTHON, Language, language_of
from evolve.lang.lexing import Kind, normalised, spans
from evolve.lang.literals import literals, with_values
from tests.examples import part_of_the_examples

WITH_GRAMMAR = [language for language in LANGUAGES if language.has_grammar]
OTHERS = [language for language in LANGUAGES if language is not PYTHON]

# Strings of each language, with what begins a comment there, and a comment behind code where one may go.
STRINGS = {
    "C": ['"a // b"', '"/*"', "'\"'", '"\\""', 'R"x(" // )x"'],
    "Rust": ['"a // b\n /*"', 'r#"a " // "#', "'\"'", "b'\\''"],
    "Go": ['"//"', "`/*\n //`", "'\"'"],
    "JavaScript": ['"//"', "'/*'", "`a\n//`"],
    "TypeScript": ['"//"', "'/*'", "`a\n//`"],
    "Java": ['"//"', '"""\n // " \n"""', "'\"'"],
    "Julia": ['"#"', '"""\n # " #= \n"""', "'#'"],
    "Fortran": ["'!'", '"a!"', "'it''s ! here'"],
    "R": ['"#"', "'#'", "`a # b`"],
}
ASIDE = st.sampled_from(["", " said", " it 2 + 3", " = x", "-"])


def strings_of(language: Language) -> list[str]:
    return STRINGS.get(language.name, STRINGS["C"])


def programs(language: Language) -> st.SearchStrategy[list[str]]:
    """Lines of code."""
    piece = st.sampled_from(["x", "y1", "=", "+", "( 1.5 )", "2", ",", *strings_of(language)])
    return st.lists(st.lists(piece, min_size=1, max_size=4).map(" ".join), max_size=5)


def decorated(draw: st.DrawFn, lines: list[str], language: Language) -> str:
    """The lines with comments and layout that must not matter."""
    text = ""
    for line in lines:
        for _ in range(draw(st.integers(0, 2))):
            text += draw(st.sampled_from(["", " ", "\t"])) + "\n"
            text += language.comment(draw(ASIDE)) + draw(st.sampled_from(["\n", "\r\n"]))
        before = draw(st.sampled_from(["", "  ", "\t"]))
        after = draw(st.sampled_from(["", " ", "\t "]))
        if draw(st.booleans()):
            after = " " + language.comment(draw(ASIDE))
        text += before + line + after + draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    return text


@pytest.mark.parametrize("language", WITH_GRAMMAR, ids=lambda language: language.name)
@part_of_the_examples(3)
@given(st.data())
def test_programs_are_the_same_exactly_if_they_differ_in_comments_and_layout_alone(
    language: Language, data: st.DataObject
) -> None:
    one = data.draw(programs(language))
    other = data.draw(st.one_of(st.just(one), programs(language)))
    texts = [data.draw(st.composite(decorated)(lines, language)) for lines in (one, other)]
    hashes = {normalised_hash(text, language) for text in texts}
    assert (len(hashes) == 1) == (one == other)


@pytest.mark.parametrize("language", WITH_GRAMMAR, ids=lambda language: language.name)
def test_a_change_inside_of_a_string_makes_another_program(language: Language) -> None:
    for string in strings_of(language):
        source = f"x = {string}\n"
        for place in range(len(string)):
            if string[place].isspace():
                other = f"x = {string[:place]} {string[place:]}\n"
                assert normalised_hash(source, language) != normalised_hash(other, language)


NASTY = st.lists(
    st.sampled_from(
        [
            *"\"'\\/* \n#ab1",
            "//",
            "/*",
            "*/",
            "\\\n",
            '"x"',
            "'y'",
            'R"(',
            ')"',
            "#define a ",
            "\\ \n",
            "/\\\n/",
            "\r\n",
        ]
    ),
    max_size=14,
)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler to compare with")
@given(NASTY, st.data())
def test_what_is_one_program_for_us_is_one_for_a_compiler(pieces: list[str], data: st.DataObject) -> None:
    """The compiler's preprocessor takes comments out, too: where both texts are the same here, they are for it."""
    place = data.draw(st.integers(0, len(pieces)))
    changed = pieces[:place] + data.draw(NASTY.filter(lambda found: len(found) < 4)) + pieces[place + 1 :]
    one, other = "".join(pieces), "".join(changed)
    language = language_of("program.c")
    if one != other and normalised(one, language) == normalised(other, language):
        assert preprocessed(one) == preprocessed(other)


def preprocessed(source: str) -> object:
    ran = subprocess.run(
        ["cc", "-E", "-P", "-w", "-x", "c", "-"], input=source.encode(), capture_output=True, check=False
    )
    return ran.stdout.split() if ran.returncode == 0 else "no C"


@pytest.mark.parametrize(
    ("file", "one", "other"),
    [
        ("a.c", "#define a 1 /*\n*/ + 2\n", "#define a 1\n+ 2\n"),
        ("a.c", "#include <a//b>\n", "#include <a//c>\n"),
        ("a.c", "// a \\\nx = 1;\n", "// a \\\nx = 2;\n"),
        ("a.c", "x = '\"'; // 1\n", "x = '\"'; // 1\ny;\n"),
        ("a.f90", "!$omp parallel\nx\n", "!$omp master\nx\n"),
        ("a.go", "//go:noinline\nx\n", "//go:inline\nx\n"),
        ("a.go", '/*\n#include <a.h>\n*/\nimport "C"\n', '/*\n#include <b.h>\n*/\nimport "C"\n'),
        ("a.js", "x = /[//]a/\n", "x = /[//]b/\n"),
        ("a.js", "x = `${`//a`}`\n", "x = `${`//b`}`\n"),
        ("a.js", "return /*\n*/ x\n", "return x\n"),
        ("a.js", "if (x) /[//]a/.test(y)\n", "if (x) /[//]b/.test(y)\n"),
        ("a.jl", 'x = "$(f("#a"))"\n', 'x = "$(f("#b"))"\n'),
        ("a.java", "// \\u000a x();\n", "// \\u000a y();\n"),
        ("a.rs", 'x = r#"a"//"#;\n', 'x = r#"a"/"#;\n'),
        ("a.r", "x %#% a\n", "x %#% b\n"),
        ("a.kt", 'x = "${f("//a")}"\n', 'x = "${f("//b")}"\n'),
        ("a.sh", "cat <<X\n#a\nX\n", "cat <<X\n#b\nX\n"),
        ("a.hs", "x --> y\n", "x --> z\n"),
        ("a.txt", "# a\n", "# b\n"),
    ],
)
def test_what_only_looks_like_a_comment_is_kept(file: str, one: str, other: str) -> None:
    assert normalised_hash(one, language_of(file)) != normalised_hash(other, language_of(file))


@given(st.text(st.sampled_from("\"'`/*#-;%!(){}[]|\\\n\r=$<> ab1.\0\u2028")), st.sampled_from(LANGUAGES))
def test_any_text_is_split_whole_or_not_at_all(source: str, language: Language) -> None:
    found = spans(source, language)
    assert found is None or "".join(source[span.start : span.stop] for span in found) == source
    if language is not PYTHON:
        assert normalised_hash(source, language) == normalised_hash(source, language)


@pytest.mark.parametrize("opening", ['R"x(', '"', "/*", "[==[", "(*", "{-", "#|", "'", "`", "(a)/", "-- ", "{a|"])
def test_a_text_that_opens_without_end_takes_no_time_without_end(opening: str) -> None:
    """It is read once from its beginning to its end, and holds no number. (`tests/benchmarks/hostile_text.py` measures
    how the time grows.)"""
    source = opening * (20_000 // len(opening))
    for language in OTHERS:
        found = spans(source, language)
        assert found is None or [span.start for span in found] == [0, *(span.stop for span in found[:-1])]
        assert found is None or found[-1].stop == len(source)
        assert normalised(source, language)
        assert literals(source, language) == ()


# -- markers ---------------------------------------------------------------------------------------------------------


@given(st.sampled_from(LANGUAGES), st.sampled_from(["", "  ", "\t"]), st.sampled_from(["", " ", "\n", "\r\n", " \n"]))
def test_a_marker_is_one_behind_any_languages_comment_sign(language: Language, before: str, after: str) -> None:
    assert marker(before + language.comment(START) + after) == "START"
    assert marker(before + language.comment(END) + after) == "END"
    assert marker(f"x {language.comment(START)}") is None
    assert marker(f"{language.comment(START)} x") is None
    assert marker(language.comment(f"{START} here")) is None


@given(st.sampled_from(LANGUAGES), st.lists(st.text("ab #/\n").map(lambda text: text + "\n"), min_size=1, max_size=4))
def test_what_stands_between_markers_is_what_may_change(language: Language, parts: list[str]) -> None:
    source = "".join(f"fixed\n{language.comment(START)}\n{part}{language.comment(END)}\n" for part in parts)
    assert [region.text for region in evolve_regions(source)] == parts
    for region in evolve_regions(source):
        assert "".join(split_lines(source)[region.start : region.stop]) == region.text


@pytest.mark.parametrize(
    "line", ["EVOLVE-BLOCK-START", "(* EVOLVE-BLOCK-START", "= EVOLVE-BLOCK-START", "// evolve-block-start"]
)
def test_a_line_that_is_no_comment_is_no_marker(line: str) -> None:
    assert marker(line) is None


def test_of_another_language_nothing_is_compiled_but_the_markers_must_pair_up() -> None:
    language = language_of("x.rs")
    check_program("fn main( {\n", language=language, entry_point="solve", name="x.rs")
    with pytest.raises(ProgramError, match=r"x\.rs: line 1: EVOLVE-BLOCK-START without"):
        check_program("// EVOLVE-BLOCK-START\n", language=language, entry_point="", name="x.rs")


# -- the table -------------------------------------------------------------------------------------------------------


def test_every_suffix_has_one_language() -> None:
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(language_of(f"program{suffix}") is language for language in LANGUAGES for suffix in language.suffixes)
    assert language_of("PROGRAM.CPP").name == "C++"
    assert language_of("a.s").close == "*/"
    assert language_of("README").name == "text"


# -- numbers ---------------------------------------------------------------------------------------------------------


NUMBERS = st.one_of(
    st.integers(0, 10**9).map(str),
    st.floats(1e-3, 1e6).map(repr),
    st.sampled_from(["1e5", "2.5e-3", "1_000"]),
)


@pytest.mark.parametrize("language", WITH_GRAMMAR, ids=lambda language: language.name)
@part_of_the_examples(2)
@given(st.data())
def test_the_numbers_of_the_code_are_found_and_those_of_strings_and_comments_are_not(
    language: Language, data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(NUMBERS, max_size=5))
    source = ""
    for number in numbers:
        source += f'{language.comment("but not 77")}\nx ( {number} ) "8"\n'
    found = literals(source, language)
    assert [literal.value for literal in found] == [
        float(n) if re.search(r"[.e]", n) else int(n.replace("_", "")) for n in numbers
    ]
    assert all(source[literal.start : literal.stop] == number for literal, number in zip(found, numbers, strict=True))
    moved = with_values(source, {literal: literal.value + 1 for literal in found})
    assert [literal.value for literal in literals(moved, language)] == [literal.value + 1 for literal in found]
    shape = [span.kind for span in spans(source, language) or ()]
    assert [span.kind for span in spans(moved, language) or ()] == shape
    assert Kind.COMMENT in shape or not numbers


@pytest.mark.parametrize(
    ("file", "source", "found"),
    [
        ("a.c", "#define HEAT 0.95 // 7\n", [("HEAT", 0.95)]),
        ("a.c", "static const double cooling = 1.5e-3f;\nint tries = 30;\n", [("cooling", 1.5e-3), (None, 30)]),
        ("a.c", "#if X > 30\n#include <a.h>\nint a[10], b = 0x1F, c = 010, d2 = a3, e = x.5 ;\n", []),
        ("a.c", "#define SIZE (30)\n#define TWICE 2 * X\n", [("SIZE", 30), (None, 2)]),
        ("a.cpp", "constexpr int N = 1'000;\nauto k = 5ull;\n", [(None, 5)]),
        (
            "a.rs",
            "const RATE: f64 = 0.5_f64;\nfor i in 3..50 { t.0; x.powi(4) }\n",
            [("RATE", 0.5), (None, 3), (None, 50), (None, 4)],
        ),
        ("a.f90", "real, parameter :: heat = 2.5d0\n", [("heat", 2.5)]),
        ("a.jl", "const N = 40\nRATE = 0.5 # 3\nA[4] + 2x\n", [("N", 40), ("RATE", 0.5), (None, 2)]),
        ("a.go", "const Rate = 0.5\nx := 7\n", [("Rate", 0.5), (None, 7)]),
        ("a.r", "RATE <- 0.5\n", [("RATE", 0.5)]),
        ("a.c", "int n = (*p).size + 7;\n", [(None, 7)]),
        (
            "a.sh",
            "# 9\nRATE=0.5\nexport TRIES=-40 # or 50\nNAME=x8 OTHER=9\nx=$(f 7) <<EOF\n STEPS=3\r\nMODE=077\nEOF\n",
            [("RATE", 0.5), ("TRIES", 40), ("STEPS", 3)],
        ),
        ("a.sh", "SKIP=5\nsum=$((sum + x))\nfiles=`ls | wc -l`\nlast=${a[3]}\n", [("SKIP", 5)]),
        ("a.rb", 'SKIP = 5\nhere = `ls`\nputs "#{SKIP}"\nx = 3 + 4\n', [("SKIP", 5)]),
        ("a.pl", "my $RATE = 0.5;  # of 9\nour @l = (1, 2);\n$n = 7;\n", [("RATE", 0.5), (None, 7)]),
    ],
)
def test_which_numbers_are_found_and_what_they_are_called(
    file: str, source: str, found: list[tuple[str | None, float]]
) -> None:
    assert [(literal.name, literal.value) for literal in literals(source, language_of(file))] == found


def test_a_double_of_fortran_stays_one() -> None:
    source = "x = 2.5d0 + 1.0D-3\n"
    found = literals(source, language_of("a.f90"))
    assert with_values(source, dict(zip(found, [5.0, 1e-05], strict=True))) == "x = 5.0d0 + 1d-05\n"
