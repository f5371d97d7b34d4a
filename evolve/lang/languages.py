"""Languages: their names, suffixes and comment signs, and the grammar of strings and comments of about a dozen.

A grammar (applied by `evolve.lang.lexing`) is a set of regular expressions. `kept` are strings, and comments that a
compiler obeys. `comments` are dropped by normalising. `doubtful` is matched before both; a text that holds it is used
unchanged, as is one with a quote or a comment that does not end, and any text in a language without a grammar: nothing
is dropped where that is not known to be safe.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from evaluator.task import Task

_STRING: Final = r'"(?:[^"\\\n]|\\(?:\r\n|[\s\S]))*"'
_LONG_STRING: Final = r'"(?:[^"\\]|\\[\s\S])*"'
_CHARACTER: Final = r"'(?:[^'\\\n]|\\(?:\r\n|[\s\S]))*'"
_ONE_CHARACTER: Final = r"'(?:[^'\\\n]|\\[^'\n]{1,10}|\\')'"
_RAW_STRING: Final = r'(?:u8|[uUL])?R"(?P<raw>[^ ()\\\t\v\f\n]{0,16})\([\s\S]*?\)(?P=raw)"'
_SLASHES: Final = r"//[^\n]*"
_SLASH_STAR: Final = r"/\*[\s\S]*?\*/"
_BACKTICKS: Final = r"`[^`]*`"
_DOUBLED: Final = r"""'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*\""""
_ANGLE: Final = r"""<(?:(?!//|/\*|['"])[^>\n])*+"""
_WORD: Final = r"[^\W\d]\w*|\d[\w.]*"

# `a / b` in a language whose regular expressions begin with a slash: what stands before it decides.
_DIVIDED: Final = r"(?:[^\W\d][\w$]*|\$[\w$]*|\d[\w.]*|[)\]])(?:[ \t]*/(?![/*]))?"
_MAYBE_REGEX: Final = (
    r"\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new|instanceof|yield|await)\b\s*/(?![/*])"
    r"|(?<![\w$)\]])/(?![/*])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. `sign` (and `close`, where a comment has an end) are the comment signs for evolve block markers.

    `nested` are the signs of comments that nest. `word` matches a word (a quote inside of it begins no string),
    `unclosed` the beginning of a long string that did not end, `risky` what may begin something that lasts to the end
    of the line, and `never` what keeps anything from being dropped wherever it is in a text.
    """

    name: str
    fence: str
    suffixes: tuple[str, ...]
    sign: str
    close: str = ""
    kept: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    nested: tuple[str, str] | None = None
    doubtful: str = ""
    unclosed: str = ""
    risky: str = ""
    never: str = ""
    word: str = _WORD

    def comment(self, text: str) -> str:
        """A comment line with `text`."""
        return f"{self.sign} {text}" + (f" {self.close}" if self.close else "")

    @property
    def has_grammar(self) -> bool:
        """Whether a text can be split into code, strings and comments."""
        return bool(self.comments or self.nested)


def _c_like(name: str, fence: str, *suffixes: str) -> Language:
    """A language with a C preprocessor: a backslash joins lines, and a header's name is no code."""
    return Language(
        name=name,
        fence=fence,
        suffixes=suffixes,
        sign="//",
        kept=(_RAW_STRING, _STRING, _CHARACTER, r"\\[ \t]*\r?\n"),
        comments=(_SLASHES, _SLASH_STAR),
        doubtful=r"""/\\\r?\n|(?:\#|%:)[ \t]*+(?:include|import|embed)"""
        # A name in angles may look like a comment or a string. A line that is too long to be one is not read for it.
        + rf"""(?:[^\n]{{400}}|(?>[^<\n]++|{_ANGLE}(?:>|$))*+{_ANGLE}(?://|/\*|['"]))""",
        unclosed=r'(?:u8|[uUL])?R"',
        never=r"\?\?/",  # a backslash, where trigraphs are read
        word=r"[^\W\d]\w*|\d(?:'?[\w.])*",
    )


def _script(name: str, fence: str, *suffixes: str) -> Language:
    """JavaScript and its dialects."""
    return Language(
        name=name,
        fence=fence,
        suffixes=suffixes,
        sign="//",
        kept=(_STRING, _CHARACTER, r"`(?:[^`\\$]|\\[\s\S]|\$(?!\{))*`"),
        comments=(_SLASHES, _SLASH_STAR),
        doubtful=_MAYBE_REGEX,
        risky=r"\)[ \t]*/(?![/*])",  # a quotient, or a condition and then a regular expression
        word=_DIVIDED,
    )


PYTHON: Final = Language(name="Python", fence="python", suffixes=(".py", ".pyw"), sign="#")

SHELL: Final = Language(name="shell", fence="sh", suffixes=(".sh", ".bash"), sign="#")

_WITHOUT_GRAMMAR: Final = {  # by comment sign: name, the name in a code fence where that is another one, suffixes
    ("//", ""): (
        "C#=csharp .cs, Kotlin .kt .kts, Swift .swift, Scala .scala, Dart .dart, Zig .zig, D .d, F#=fsharp .fs, "
        "Pascal .pas, PHP .php, Verilog .v .sv, Dafny .dfy, JavaScript with markup=jsx .jsx .tsx, "
        "a shader=glsl .glsl .hlsl .metal .wgsl"
    ),
    ("#", ""): (
        "Ruby .rb, Perl .pl .pm, Elixir .ex .exs, Nim .nim, Mojo .mojo, a makefile=makefile .mk, AMPL .mod, "
        "YAML .yaml .yml, TOML .toml"
    ),
    ("--", ""): ("Lua .lua, Haskell .hs, SQL .sql, Ada .adb .ads, VHDL .vhd .vhdl, Elm .elm, Lean .lean, Idris .idr"),
    ("%", ""): "MATLAB .m, Erlang .erl, Prolog .pro .prolog, MiniZinc .mzn, TeX .tex",
    ("!", ""): "Fortran in fixed form=fortran .f .for .f77",
    (";", ""): ("Lisp .lisp .lsp, Scheme .scm .ss .rkt, Clojure .clj, LLVM IR=llvm .ll, assembly=asm .asm .nasm"),
    (";;", ""): "WebAssembly=wat .wat",
    ("(*", "*)"): "OCaml .ml .mli, Standard ML=sml .sml, Mathematica .wl, Isabelle .thy",
    ("/*", "*/"): "assembly=asm .s .S",
}


def _without_grammar() -> Iterator[Language]:
    for (sign, close), rows in _WITHOUT_GRAMMAR.items():
        for row in rows.split(", "):
            named, *suffixes = row.split(" .")
            name, _, fence = named.partition("=")
            dotted = tuple(f".{suffix}" for suffix in suffixes)
            yield Language(name=name, fence=fence or name.lower(), suffixes=dotted, sign=sign, close=close)


LANGUAGES: Final[tuple[Language, ...]] = (
    PYTHON,
    _c_like("C", "c", ".c", ".h"),
    _c_like("C++", "cpp", ".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh"),
    _c_like("CUDA", "cuda", ".cu", ".cuh"),
    _c_like("OpenCL", "opencl", ".cl"),
    Language(
        name="Rust",
        fence="rust",
        suffixes=(".rs",),
        sign="//",
        kept=(r'[bc]?r(?P<raw>#*)"[\s\S]*?"(?P=raw)', _LONG_STRING, r"b?" + _ONE_CHARACTER),
        comments=(_SLASHES,),
        nested=("/*", "*/"),
        unclosed=r'[bc]?r#*"',
        word=r"'?[^\W\d]\w*|\d[\w.]*",  # a lifetime is a word
    ),
    Language(
        name="Go",
        fence="go",
        suffixes=(".go",),
        sign="//",
        kept=(r"//(?:go:|export |line |[ \t]*\+build)[^\n]*", _STRING, _BACKTICKS, _CHARACTER),
        comments=(_SLASHES, _SLASH_STAR),
        never=r'"C"',  # what stands in the comment above that import is compiled
    ),
    _script("JavaScript", "javascript", ".js", ".mjs", ".cjs"),
    _script("TypeScript", "typescript", ".ts", ".mts"),
    Language(
        name="Java",
        fence="java",
        suffixes=(".java",),
        sign="//",
        kept=(r'"""(?:[^\\]|\\[\s\S])*?"""', _STRING, _CHARACTER),
        comments=(_SLASHES, _SLASH_STAR),
        unclosed=r'"""',
        never=r"\\u",  # may be a quote or the end of a line, wherever it stands
    ),
    Language(
        name="Julia",
        fence="julia",
        suffixes=(".jl",),
        sign="#",
        kept=(
            r'"""(?:[^\\$]|\\[\s\S]|\$(?!\())*?"""',
            r'"(?:[^"\\$]|\\[\s\S]|\$(?!\())*"',
            r"`(?:[^`\\$]|\\[\s\S]|\$(?!\())*`",
            _ONE_CHARACTER,
        ),
        comments=(r"\#(?!=)[^\n]*",),
        nested=("#=", "=#"),
        unclosed=r'"""',
        doubtful=r"\b(?:in|isa|return|if|elseif|while|for|do|begin|else|let|where)'",
        word=r"[^\W\d][\w!]*'*|\d[\w.]*'*|[)\]}.]'+",  # a quote behind a value transposes it
    ),
    Language(
        name="Fortran",
        fence="fortran",
        suffixes=(".f90", ".f95", ".f03", ".f08"),
        sign="!",
        kept=(r"!\w*\$[^\n]*", _DOUBLED),
        comments=(r"![^\n]*",),
    ),
    Language(
        name="R",
        fence="r",
        suffixes=(".r", ".R"),
        sign="#",
        kept=(r"%[^%\n]*%", _LONG_STRING, r"'(?:[^'\\]|\\[\s\S])*'", r"`(?:[^`\\]|\\[\s\S])*`"),
        comments=(r"\#[^\n]*",),
        doubtful=r"\b[rR][\"']-*[(\[{]",
    ),
    SHELL,
    *_without_grammar(),
)

TEXT: Final = Language(name="text", fence="text", suffixes=(".txt",), sign="#")
"""The language of a file whose suffix is not in the table."""

_BY_SUFFIX: Final = {suffix: language for language in LANGUAGES for suffix in language.suffixes}

SIGNS: Final = tuple(sorted({(language.sign, language.close) for language in LANGUAGES} | {("<!--", "-->")}))
"""Every pair of comment sign and closing sign ("" for the end of the line)."""


def language_of_task(task: Task) -> Language:
    """The language of a task's programs: that of its initial program's suffix, of several files the one with the most
    text; without a script, Python alone runs."""
    if task.program_folder is not None:
        sizes = Counter[Language]()
        for path, text in task.initial_files().items():
            sizes[language_of(path)] += len(text)
        return sizes.most_common(1)[0][0]
    return PYTHON if task.script is None else language_of(task.program_name)


def language_of(name: str | PurePath) -> Language:
    """The language of a file, by the suffix of its name."""
    suffix = PurePath(name).suffix
    return _BY_SUFFIX.get(suffix) or _BY_SUFFIX.get(suffix.lower(), TEXT)
