"""Every pattern of both packages against hostile text. Usage: python -m tests.benchmarks.patterns [NAME...]

A pattern (a compiled regular expression) is tried with texts that its own parse tree suggests: a prefix that leads to a
repetition, what is repeated, many times, and an end that does not match. They grow from 32 characters to 64 KiB, or
to the limit of the texts that the pattern sees (`LIMITS`). Each doubling may take at most three times the CPU, where it
takes more than the noise. Prints a row for each pattern that takes more, and exits 1. NAME: only patterns whose name
holds one of these.
"""

import argparse
import ast
import functools
import importlib
import inspect
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, Final

import evaluator
import evolve
from evolve.insights.check import _figures
from evolve.lang.languages import LANGUAGES, Language
from evolve.lang.lexing import scanner, spans
from evolve.lang.literals import LOOK_BACK, literals
from evolve.propose.adapting import MOST_TEXT

FIRST: Final = 32
LAST: Final = 64 * 1024
MOST_TIMES: Final = 3.0
"""The CPU that a text of double length may take, against the shorter one."""
NOISE_S: Final = 0.004
"""A measurement below this is no finding."""
_TRIES: Final = 3
"""Measurements of what seems to take too long; the shortest one counts."""
_MOST_TEXTS: Final = 400
"""Texts of one pattern."""

_CALLS: Final = frozenset({"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_METHODS: Final = _CALLS - {"compile"}
_CONCERNED: Final = re.compile(
    r"\b(?:import re|from re|regex|re2|like\()|\b_?[A-Z][A-Z0-9_]*(?:\[[^\]\n]*\])?\."
    r"(?:match|search|fullmatch|subn?|split|findall|finditer)\("
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The longest text that some patterns see, and where it is cut to that."""

    characters: int
    where: str


_REFUSAL: Final = Limit(characters=MOST_TEXT, where="evolve.propose.adapting.parse_error_body")
LIMITS: Final[Mapping[str, Limit]] = {
    "evolve.lang.literals._DEFINED": Limit(characters=LOOK_BACK, where="evolve.lang.literals._literals_in"),
    "evolve.lang.literals._CONSTANT": Limit(characters=LOOK_BACK, where="evolve.lang.literals._literals_in"),
    **{
        f"evolve.propose.adapting.{name}": _REFUSAL
        for name in (
            "_FORMS",
            "_REFUSED",
            "_TOO_LARGE",
            "_NOT_KNOWN",
            "_NOT_BOTH",
            "_OFFERS",
            "_BOUND",
            "_CONTEXT",
            "_ASKED_IN",
            "_RESPONSES",
            "_WANTS_STREAM",
            "_NO_STREAM",
            "_names",
        )
    },
    "evolve.propose.adapting._SENTENCE_END": _REFUSAL,
}
"""Of each pattern that sees only texts of a limit below 64 KiB."""

Use = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A pattern of the packages: its name (module, and the variable or function that holds it) and each of its uses."""

    name: str
    pattern: re.Pattern[Any]
    uses: tuple[tuple[str, Use], ...]

    @property
    def most(self) -> int:
        """The characters of the longest text that it sees here."""
        limit = LIMITS.get(self.name)
        return LAST if limit is None else limit.characters


# -- which patterns there are ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call such as `re.compile(...)` in the source of a module. `holder` is the variable of a module or class that
    it is assigned to; of one within a function, the function, and `inside` is true."""

    module: str
    line: int
    holder: str
    inside: bool
    method: str
    node: ast.Call

    @property
    def name(self) -> str:
        """Module and holder."""
        return f"{self.module}.{self.holder}"


def _named(*names: str) -> list[re.Pattern[str]]:
    return [re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", re.IGNORECASE) for name in names]


def _lexed_languages() -> list[Language]:
    return [language for language in LANGUAGES if language.has_grammar]


def _of_input_files() -> list[re.Pattern[str]]:
    """The patterns that the models of input files give to `matching`, as literals."""
    return [
        re.compile(ast.literal_eval(node.args[0]), re.ASCII)
        for module in modules()
        if "matching(" in (source := inspect.getsource(module))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "matching"
    ]


MADE: Final[Mapping[str, Callable[[], list[re.Pattern[str]]]]] = {
    "evolve.lang.lexing.scanner": lambda: [scanner(language) for language in _lexed_languages()],
    "evolve.lang.lexing.spans": lambda: [re.compile(one.never) for one in _lexed_languages() if one.never],
    "evolve.lang.lexing._end_of_nested": lambda: [
        re.compile("|".join(map(re.escape, one.nested))) for one in _lexed_languages() if one.nested
    ],
    "evaluator.input_files.matching": _of_input_files,
    "evolve.insights.check._figures": lambda: [_figures(unit, {"score", "max_kvpr_inverse"}) for unit in ("", "ms")],
    "evolve.apps.importing.task._with_constants": lambda: [re.compile(r"^NAME = .*?(?=(?:  #.*)?$)", re.MULTILINE)],
    "evaluator.task_yaml._expression": lambda: [re.compile(r"^time: ([\d.]+)")],
    "evolve.propose.showing._mention": lambda: [re.compile(rf"(?<![\w/.-]){re.escape('src/a.py')}(?![\w-])")],
    "evolve.propose.adapting._names": lambda: _named("temperature", "max_completion_tokens"),
}
"""Patterns that a function makes of its arguments, by the function: all of them, or the same with such arguments."""


def modules() -> list[ModuleType]:
    """Every module of both packages."""
    found = []
    for package in (evaluator, evolve):
        root = Path(next(iter(package.__path__)))
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            if all((root.parent.joinpath(*parts[:depth]) / "__init__.py").exists() for depth in range(1, len(parts))):
                found.append(importlib.import_module(".".join(parts).removesuffix(".__init__")))
    return found


@functools.cache
def sources() -> dict[str, ast.Module]:
    """The syntax tree of every Python file of both packages that makes or uses patterns, by its module's name."""
    found = {}
    for package in (evaluator, evolve):
        root = Path(next(iter(package.__path__)))
        for path in sorted(root.rglob("*.py")):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text(encoding="utf-8")
            if _CONCERNED.search(text):
                found[name] = ast.parse(text)
    return found


def calls(trees: Mapping[str, ast.Module]) -> list[Call]:
    """Every call of `re` in the sources."""
    found: list[Call] = []

    def visit(module: str, node: ast.AST, holder: str, inside: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            holder, inside = node.name, True
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not inside:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            holder = ast.unparse(target)
        elif isinstance(node, ast.Call) and _of_re(node.func):
            assert isinstance(node.func, ast.Attribute)
            method, line = node.func.attr, node.lineno
            found.append(Call(module=module, line=line, holder=holder, inside=inside, method=method, node=node))
        for child in ast.iter_child_nodes(node):
            visit(module, child, holder, inside)

    for module, tree in trees.items():
        visit(module, tree, "", False)
    return found


def _of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in _CALLS
    )


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """The compiled patterns that a value is, or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(owner := getattr(value, "__self__", None), re.Pattern):
        yield owner
    elif depth < 4 and isinstance(value, Mapping):
        for item in value.values():
            yield from patterns_in(item, depth + 1)
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from patterns_in(item, depth + 1)


def evaluated(call: Call) -> re.Pattern[Any] | None:
    """The pattern of a call within a function, where it does not depend on what the function is given."""
    names = {**vars(importlib.import_module(call.module)), "re": re}
    arguments = call.node.args[: 2 if call.method == "compile" else 1]
    flags = [word.value for word in call.node.keywords if word.arg == "flags"]
    if call.method in ("match", "search", "fullmatch", "findall", "finditer"):
        flags += call.node.args[2:3]
    bound = {node.id for argument in (*arguments, *flags) for node in ast.walk(argument) if isinstance(node, ast.Name)}
    if not bound <= names.keys():
        return None
    code = (compile(ast.Expression(argument), "<call>", "eval") for argument in (*arguments, *flags))
    source, *options = (eval(each, names) for each in code)
    return re.compile(source, *options) if isinstance(source, str | bytes) else None


@functools.cache
def collected() -> list[Found]:
    """Every pattern of both packages, with each of its uses."""
    trees = sources()
    methods = _methods(trees)
    found: dict[tuple[str, str | bytes], Found] = {}

    def add(name: str, pattern: re.Pattern[Any], used: Collection[str]) -> None:
        key = (name, pattern.pattern)
        uses = _uses(pattern, used or ("match", "fullmatch", "finditer"))
        known = () if key not in found else found[key].uses
        found[key] = Found(name=name, pattern=pattern, uses=tuple(dict([*known, *uses]).items()))

    for module in modules():
        for name, value in vars(module).items():
            for pattern in patterns_in(value) if module.__name__ in trees else ():
                if not name.startswith("__") and (owner := _owner(module, name, trees)):
                    bound = {str(getattr(value, "__name__", ""))} & _METHODS
                    add(f"{owner}.{name}", pattern, bound or methods.get(f"{owner}.{name}", set()))
        for held, value in _class_attributes(module):
            for pattern in patterns_in(value):
                add(held, pattern, ())
    for call in calls(trees):
        if call.inside and call.name not in MADE and (made := evaluated(call)) is not None:
            add(call.name, made, {call.method} & _METHODS)
    for name, make in MADE.items():
        for pattern in make():
            add(name, pattern, _MADE_USES.get(name, {"search"}))
    return [*found.values(), *_wholes()]


_MADE_USES: Final[Mapping[str, Collection[str]]] = {
    "evaluator.input_files.matching": {"fullmatch"},
    "evolve.lang.lexing._end_of_nested": {"finditer"},
    "evolve.lang.lexing.scanner": {"match"},  # a search goes on from match to match, and ends at doubt: see `_wholes`
}


def _wholes() -> Iterator[Found]:
    """What reads programs of each language, as a whole, with the texts of its scanner."""
    alike = {(scanner(language).pattern, language.nested): language for language in _lexed_languages()}
    for language in alike.values():
        apart: Use = functools.partial(_spans, language)
        read: Use = functools.partial(_literals, language)
        uses = (("spans", apart), ("literals", read))
        yield Found(name=f"evolve.lang.languages.{language.name}", pattern=scanner(language), uses=uses)


def _spans(language: Language, text: str) -> object:
    return spans.__wrapped__(text, language)


def _literals(language: Language, text: str) -> object:
    spans.cache_clear()
    return literals(text, language)


def _owner(module: ModuleType, name: str, trees: Mapping[str, ast.Module]) -> str | None:
    """The module, if it is one that assigns the name; else it was imported there."""
    assigned = (
        target
        for node in trees[module.__name__].body
        for target in ([node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", []))
    )
    return module.__name__ if any(ast.unparse(target) == name for target in assigned) else None


def _class_attributes(module: ModuleType) -> Iterator[tuple[str, object]]:
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            for attribute, held in vars(value).items():
                yield f"{module.__name__}.{name}.{attribute}", held


def _methods(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """By the full name of a variable, the methods of patterns that are called on it, or on what it holds; none of one
    that is also used otherwise, as an argument for instance."""
    found: dict[str, set[str]] = {}
    for module, tree in trees.items():
        origin = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        called: dict[str, int] = {}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or node.attr not in _METHODS | {"pattern"}:
                continue
            value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(value, ast.Name) and value.id != "re":
                name = origin.get(value.id, f"{module}.{value.id}")
                if node.attr != "pattern":
                    found.setdefault(name, set()).add(node.attr)
                called[name] = called.get(name, 0) + 1
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                name = origin.get(node.id, f"{module}.{node.id}")
                called[name] = called.get(name, 0) - 1
        for name, left in called.items():
            if left < 0 and name in found:  # used otherwise too
                found[name] |= {"match", "fullmatch", "finditer"}
    return found


def _uses(pattern: re.Pattern[Any], used: Collection[str]) -> list[tuple[str, Use]]:
    def whole(text: str) -> object:
        given = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
        return sum(1 for _ in pattern.finditer(given))

    def once(method: str, text: str) -> object:
        given = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
        return getattr(pattern, method)(given)

    single = {"match", "fullmatch", "search"}
    uses: list[tuple[str, Use]] = [(name, functools.partial(once, name)) for name in sorted(single & {*used})]
    return uses + ([("finditer", whole)] if {*used} - single else [])


# -- hostile texts ---------------------------------------------------------------------------------------------------

_ALPHABET: Final = " \ta0A_-.:/\\*#\"'`<>(,=+~\n\r\u00e9"
_ENDS: Final = ("", "\0", "\u00e9!", "x", "\n", '"', " \u2603")


def texts(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """Prefix, what is repeated, and end, of hostile texts for a pattern."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = parser.parse(source, pattern.flags & ~re.DEBUG if isinstance(pattern.pattern, str) else 0)
    letters = dict.fromkeys([*_letters(tree), *_ALPHABET])
    repeats: dict[tuple[str, str], None] = {}
    for prefix, body in _repeats(tree, [""]):
        samples = dict.fromkeys(sample for letter in letters for sample in _samples(body, letter)[:2])
        for sample in [one for one in samples if one][:14]:
            repeats[prefix, sample] = None
            repeats["", prefix + sample] = None
            repeats[prefix + sample, prefix] = None
    whole = _samples(tree, "a")[0]
    repeats["", whole] = repeats[whole, whole[:-1]] = repeats["", whole[:-1]] = None
    for letter in letters:
        repeats["", letter] = None
    found = [(prefix, body, end) for prefix, body in repeats if body for end in _ENDS]
    step = max(1, len(found) // _MOST_TEXTS)
    return found[::step] if len(found) > 2 * _MOST_TEXTS else found


def _letters(tree: Iterable[Any]) -> Iterator[str]:
    for code, argument in tree:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            yield chr(argument)
        elif code is codes.IN:
            yield from (chr(value) for kind, value in argument if kind is codes.LITERAL)
        for part in _parts(code, argument):
            yield from _letters(part)


def _parts(code: Any, argument: Any) -> list[Any]:
    """The trees within a node."""
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.ATOMIC_GROUP:
        return [argument]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if code is codes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def _repeats(tree: Iterable[Any], prefixes: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Each repetition of a tree, with texts that lead to it."""
    prefixes = list(prefixes)
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT) and argument[1] > 4:
            for prefix in prefixes:
                yield prefix, argument[2]
        for part in _parts(code, argument):
            yield from _repeats(part, prefixes)
        if code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT):
            continue
        ends = _samples([(code, argument)], "a") if code is not codes.GROUPREF else [""]
        prefixes = list(dict.fromkeys(prefix + end for prefix in prefixes for end in ends[:2]))[:3]


def _samples(tree: Iterable[Any], letter: str) -> list[str]:
    """Texts that a tree matches, or nearly; of a class the letter, where it holds it."""
    found = [""]
    for code, argument in tree:
        parts = _samples_of(code, argument, letter)
        found = list(dict.fromkeys(text + part for text in found for part in parts))[:4]
    return found


def _samples_of(code: Any, argument: Any, letter: str) -> list[str]:
    if code is codes.LITERAL:
        return [chr(argument)]
    if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
        return [_member(code, argument, letter)]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, body = argument
        inner = _samples(body, letter)
        longest = [text * max(1, min(least, 40)) for text in inner]
        return list(dict.fromkeys(([""] if least == 0 else []) + longest)) if most else [""]
    if code is codes.SUBPATTERN:
        return _samples(argument[3], letter)
    if code is codes.ATOMIC_GROUP:
        return _samples(argument, letter)
    if code is codes.BRANCH:
        return [text for branch in argument[1] for text in _samples(branch, letter)[:1]]
    return [""]  # places, assertions, references


@functools.cache
def _class(code: Any, argument: Any) -> Callable[[str], bool]:
    negated = bool(argument) and isinstance(argument, tuple) and argument[0][0] is codes.NEGATE
    categories = {
        codes.CATEGORY_DIGIT: str.isdecimal,
        codes.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
        codes.CATEGORY_SPACE: str.isspace,
        codes.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
        codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
        codes.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
    }

    def holds(character: str) -> bool:
        if code is codes.ANY:
            return True
        if code is codes.NOT_LITERAL:
            return ord(character) != argument
        inside = any(
            (kind is codes.LITERAL and value == ord(character))
            or (kind is codes.RANGE and value[0] <= ord(character) <= value[1])
            or (kind is codes.CATEGORY and categories[value](character))
            for kind, value in argument
        )
        return inside != negated

    return holds


def _member(code: Any, argument: Any, letter: str) -> str:
    holds = _class(code, tuple(argument) if isinstance(argument, list) else argument)
    return next((each for each in (letter, *_ALPHABET, *map(chr, range(33, 127))) if holds(each)), "a")


# -- measuring -------------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Worst:
    """The largest growth of one use of a pattern, from one length to its double."""

    times: float = 0.0
    seconds: float = 0.0
    length: int = 0
    text: tuple[str, str, str] = field(default=("", "", ""))
    use: str = ""


def worst_of(found: Found) -> Worst:
    """The largest growth of a pattern's CPU; it stops at the first that is too large."""
    worst = Worst()
    for hostile in texts(found.pattern):
        for name, use in found.uses:
            before = 0.0
            for length in _lengths(found.most):
                text = _text(hostile, length)
                seconds = _cpu(use, text)
                if seconds > NOISE_S and before and seconds > MOST_TIMES * before:
                    half = _text(hostile, length // 2)
                    before = min(_cpu(use, half) for _ in range(_TRIES))
                    seconds = min(seconds, *(_cpu(use, text) for _ in range(_TRIES if seconds < 1 else 1)))
                times = seconds / max(before, NOISE_S / MOST_TIMES)
                if seconds > NOISE_S and times > worst.times:
                    worst = Worst(times=times, seconds=seconds, length=length, text=hostile, use=name)
                    if times > MOST_TIMES:
                        return worst
                before = seconds
    return worst


def _lengths(most: int) -> list[int]:
    lengths = [FIRST]
    while lengths[-1] * 2 <= most:
        lengths.append(lengths[-1] * 2)
    return lengths


def _text(hostile: tuple[str, str, str], length: int) -> str:
    """As many bodies as fit, in fours: else a quotation mark closes in the text and stays open in its half."""
    prefix, body, end = hostile
    times = max(0, length - len(prefix) - len(end)) // len(body)
    return prefix + body * (times // 4 * 4 or times) + end


def _cpu(use: Use, text: str) -> float:
    began = time.process_time()
    use(text)
    return time.process_time() - began


def main(words: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Every pattern of both packages against hostile text.")
    options.add_argument("names", nargs="*", metavar="NAME", help="only patterns whose name holds one of these")
    names = options.parse_args(words).names
    every = [found for found in collected() if not names or any(name in found.name for name in names)]
    bad = 0
    for found in every:
        worst = worst_of(found)
        if worst.times > MOST_TIMES:
            bad += 1
            shown = ", ".join(repr(part if len(part) < 60 else part[:60] + "...") for part in worst.text)
            print(
                f"{found.name}: {worst.use} of {worst.length} characters: {worst.seconds * 1000:.0f} ms, "
                f"{worst.times:.1f} times those of half ({shown})",
                flush=True,
            )
    print(f"{len(every)} patterns; {bad} of them take more than {MOST_TIMES:g} times the CPU for twice the text")
    return 1 if bad or not every else 0


if __name__ == "__main__":
    sys.exit(main())
