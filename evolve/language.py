"""Languages: one table. How each writes comments, what a file of it is called, and what in it is kept to the letter.

A row says how a text is told apart (`evolve.lexing`), with regular expressions: `kept` are strings, and comments that a
compiler obeys; `comments` are what normalising drops; `doubtful` is what is seen before either and makes the whole text
be taken as it stands, as do a quote or a comment that does not end. A row without `comments` is always taken as it
stands: nothing is dropped where dropping is not known to be safe.
"""

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
_WORD: Final = r"[^\W\d]\w*|\d[\w.]*"

# `a / b` in a language whose regular expressions begin with a slash: what stands before it decides.
_DIVIDED: Final = r"(?:[^\W\d][\w$]*|\$[\w$]*|\d[\w.]*|[)\]])(?:[ \t]*/(?![/*]))?"
_MAYBE_REGEX: Final = (
    r"\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new|instanceof|yield|await)\b\s*/(?![/*])"
    r"|(?<![\w$)\]])[ \t]*/(?![/*])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. `sign` (and `close`, where a comment has an end) is what an evolve block's markers stand behind.

    `nested` are the signs of comments that nest, which may not hold `stringy`. `word` is what is read as one (a quote
    inside of it begins no string), `unclosed` what begins something long and did not end, `risky` what may begin
    something that lasts to the end of the line, and `never` what a text may not hold anywhere if anything is to be
    dropped from it. `layout`: indentation has a meaning. `dashed`: a name may hold signs of arithmetic.
    """

    name: str
    fence: str
    suffixes: tuple[str, ...]
    sign: str
    close: str = ""
    kept: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    nested: tuple[str, str] | None = None
    stringy: str = ""
    doubtful: str = ""
    unclosed: str = ""
    risky: str = ""
    never: str = ""
    word: str = _WORD
    layout: bool = False
    dashed: bool = False

    def comment(self, text: str) -> str:
        """A line of its own that says `text` to people only."""
        return f"{self.sign} {text}" + (f" {self.close}" if self.close else "")

    @property
    def is_told_apart(self) -> bool:
        """Whether comments, strings and code of a text can be told apart."""
        return bool(self.comments or self.nested)


def _slashed(name: str, fence: str, *suffixes: str) -> Language:
    return Language(name=name, fence=fence, suffixes=suffixes, sign="//")


def _hashed(name: str, fence: str, *suffixes: str) -> Language:
    return Language(name=name, fence=fence, suffixes=suffixes, sign="#")


def _dashed(name: str, fence: str, *suffixes: str) -> Language:
    return Language(name=name, fence=fence, suffixes=suffixes, sign="--")


def _percent(name: str, fence: str, *suffixes: str) -> Language:
    return Language(name=name, fence=fence, suffixes=suffixes, sign="%")


def _starred(name: str, fence: str, *suffixes: str) -> Language:
    return Language(name=name, fence=fence, suffixes=suffixes, sign="(*", close="*)")


def _c_like(name: str, fence: str, *suffixes: str) -> Language:
    """What a C preprocessor reads first: a backslash joins lines, and a header's name is no code."""
    return Language(
        name=name,
        fence=fence,
        suffixes=suffixes,
        sign="//",
        kept=(_RAW_STRING, _STRING, _CHARACTER, r"\\[ \t]*\r?\n"),
        comments=(_SLASHES, _SLASH_STAR),
        doubtful=r"""/\\\r?\n|(?:\#|%:)[ \t]*(?:include|import|embed)[^\n]*<[^>\n]*(?://|/\*|['"])""",
        unclosed=r'(?:u8|[uUL])?R"',
        never=r"\?\?/",  # a backslash, where trigraphs are read
        word=r"[^\W\d]\w*|\d(?:'?[\w.])*",
    )


def _script(name: str, fence: str, *suffixes: str) -> Language:
    """JavaScript and what is made of it."""
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


PYTHON: Final = Language(name="Python", fence="python", suffixes=(".py", ".pyw"), sign="#", layout=True)

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
        name="Fortran in fixed form",
        fence="fortran",
        suffixes=(".f", ".for", ".f77"),
        sign="!",
        kept=(r"^[cCdD*!]\w*\$[^\n]*", _DOUBLED, r"(?<=.)![^\n]*"),
        comments=(r"^[cC*!](?!\w*\$)[^\n]*",),
        layout=True,
    ),
    Language(
        name="Lua",
        fence="lua",
        suffixes=(".lua",),
        sign="--",
        kept=(r"\[(?P<long>=*)\[[\s\S]*?\](?P=long)\]", _STRING, _CHARACTER),
        comments=(r"--\[(?P<block>=*)\[[\s\S]*?\](?P=block)\]", r"--(?!\[=*\[)[^\n]*"),
        unclosed=r"(?:--)?\[=*\[",
    ),
    Language(
        name="Haskell",
        fence="haskell",
        suffixes=(".hs",),
        sign="--",
        kept=(r"\{-\#[\s\S]*?\#-\}", r'"(?:[^"\\\n]|\\\s+\\|\\[^\s])*"', _ONE_CHARACTER),
        comments=(
            r"(?<![!#$%&*+./<=>?@\\^|~:\-\u00a1-\u00bf\u2000-\u2bff])--+(?![!#$%&*+./<=>?@\\^|~:\u00a1-\u00bf\u2000-\u2bff])[^\n]*",
        ),
        nested=("{-", "-}"),
        doubtful=r"\[\w*\|",  # a quasi-quotation, perhaps
        word=r"[^\W\d][\w']*|\d[\w.]*",
        layout=True,
    ),
    Language(
        name="OCaml",
        fence="ocaml",
        suffixes=(".ml", ".mli"),
        sign="(*",
        close="*)",
        kept=(r"\{(?P<quoted>[a-z_]*)\|[\s\S]*?\|(?P=quoted)\}", _LONG_STRING, _ONE_CHARACTER),
        nested=("(*", "*)"),
        stringy=r'"|\{[a-z_]*\|',  # strings count inside of its comments
        unclosed=r"\{[a-z_]*\|",
        word=r"[^\W\d][\w']*|'[^\W\d]\w*|\d[\w.]*",
    ),
    *(
        Language(
            name=name,
            fence=fence,
            suffixes=suffixes,
            sign=";",
            kept=(r"\#\\[\s\S]\w*", r"\#;", r"\\[\s\S]", _LONG_STRING, r"\|(?:[^|\\]|\\[\s\S])*\|"),
            comments=(r";[^\n]*",),
            nested=("#|", "|#"),
            never=r"\#<<",
            word=r"""[^\s()\[\]{}"'`,;|\\\#]+|'""",
            dashed=True,
        )
        for name, fence, suffixes in (
            ("Lisp", "lisp", (".lisp", ".lsp")),
            ("Scheme", "scheme", (".scm", ".ss", ".rkt")),
            ("Clojure", "clojure", (".clj",)),
        )
    ),
    Language(
        name="SQL",
        fence="sql",
        suffixes=(".sql",),
        sign="--",
        kept=(r"/\*[+!][\s\S]*?\*/", r"'(?:[^'\\]|'')*'", r'"(?:[^"\\]|"")*"', r"`[^`\\]*`"),
        comments=(r"--(?=\s)[^\n]*", r"/\*(?:(?!/\*)[\s\S])*?\*/"),
        doubtful=r"--(?!\s)|\[[^\]\n]*(?:--|/\*)|\$\w*\$",
        never=r"\\",
    ),
    Language(
        name="MATLAB",
        fence="matlab",
        suffixes=(".m",),
        sign="%",
        kept=(r"^[ \t]*%\{[ \t]*\r?\n[\s\S]*?^[ \t]*%\}[ \t]*\r?$", r"(?<=.)[%\#][^\n]*", _DOUBLED),
        comments=(r"^[ \t]*%(?![{}])[^\n]*",),
        word=r"(?:[^\W\d]\w*|\d[\w.]*|[)\]}.])'*",  # a quote behind a value transposes it
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
    Language(
        name="shell",
        fence="sh",
        suffixes=(".sh", ".bash"),
        sign="#",
        kept=(
            r"\A\#![^\n]*",
            r"\\[\s\S]",
            r'"(?:[^"\\$`]|\\[\s\S]|\$(?![({]))*"',
            r"(?<!\$)'[^']*'",
            r"(?<=[ \t])\#[^\n]*",
        ),
        comments=(r"^[ \t]*\#[^\n]*",),
        doubtful=r"\$'|`|\$\(|\$\{",
        never=r"<<",
    ),
    _slashed("C#", "csharp", ".cs"),
    _slashed("Kotlin", "kotlin", ".kt", ".kts"),
    _slashed("Swift", "swift", ".swift"),
    _slashed("Scala", "scala", ".scala"),
    _slashed("Dart", "dart", ".dart"),
    _slashed("Zig", "zig", ".zig"),
    _slashed("D", "d", ".d"),
    _slashed("F#", "fsharp", ".fs"),
    _slashed("Pascal", "pascal", ".pas"),
    _slashed("PHP", "php", ".php"),
    _slashed("Verilog", "verilog", ".v", ".sv"),
    _slashed("Dafny", "dafny", ".dfy"),
    _slashed("JavaScript with markup", "jsx", ".jsx", ".tsx"),
    _slashed("a shader", "glsl", ".glsl", ".hlsl", ".metal", ".wgsl"),
    _hashed("Ruby", "ruby", ".rb"),
    _hashed("Perl", "perl", ".pl", ".pm"),
    _hashed("Elixir", "elixir", ".ex", ".exs"),
    _hashed("Nim", "nim", ".nim"),
    _hashed("Mojo", "mojo", ".mojo"),
    _hashed("a makefile", "makefile", ".mk"),
    _hashed("AMPL", "ampl", ".mod"),
    _hashed("YAML", "yaml", ".yaml", ".yml"),
    _hashed("TOML", "toml", ".toml"),
    _dashed("Ada", "ada", ".adb", ".ads"),
    _dashed("VHDL", "vhdl", ".vhd", ".vhdl"),
    _dashed("Elm", "elm", ".elm"),
    _dashed("Lean", "lean", ".lean"),
    _dashed("Idris", "idris", ".idr"),
    _percent("Erlang", "erlang", ".erl"),
    _percent("Prolog", "prolog", ".pro", ".prolog"),
    _percent("MiniZinc", "minizinc", ".mzn"),
    _percent("TeX", "tex", ".tex"),
    _starred("Standard ML", "sml", ".sml"),
    _starred("Mathematica", "mathematica", ".wl"),
    _starred("Isabelle", "isabelle", ".thy"),
    Language(name="assembly", fence="asm", suffixes=(".s", ".S"), sign="/*", close="*/"),
    Language(name="assembly", fence="asm", suffixes=(".asm", ".nasm"), sign=";"),
    Language(name="WebAssembly", fence="wat", suffixes=(".wat",), sign=";;"),
    Language(name="LLVM IR", fence="llvm", suffixes=(".ll",), sign=";"),
)

TEXT: Final = Language(name="text", fence="text", suffixes=(".txt",), sign="#")
"""What a file is whose suffix is not in the table."""

_BY_SUFFIX: Final = {suffix: language for language in LANGUAGES for suffix in language.suffixes}

SIGNS: Final = tuple(sorted({(language.sign, language.close) for language in LANGUAGES} | {("<!--", "-->")}))
"""Every pair of comment sign and what closes it ("" for the end of the line)."""


def language_of_task(task: Task) -> Language:
    """The language of a task's programs: that of its initial program's suffix; without a script, Python alone runs."""
    return PYTHON if task.script is None else language_of(task.initial)


def language_of(name: str | PurePath) -> Language:
    """The language of a file, by the suffix of its name."""
    suffix = PurePath(name).suffix
    return _BY_SUFFIX.get(suffix) or _BY_SUFFIX.get(suffix.lower(), TEXT)
