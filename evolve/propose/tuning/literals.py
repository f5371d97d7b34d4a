"""The numbers of a program that are worth searching, and the program with other values in their places.

They are those of the evolve blocks, outside of strings and comments, written in decimal, and no index in brackets: of
Python by its syntax tree, of other languages by `evolve.lang.literals`. Left alone is what is structure more often than
a choice: the integers 0, 1 and 2 and the float 0.0 unless a constant is named so, what is too small to be more than a
tolerance, what stands for infinity, and a seed, whose gains would be luck. Whether a number matters at all nobody can
see in the text: the search drops those that change nothing.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from evaluator.program_files import Files
from evolve.core.program import evolve_regions, split_lines
from evolve.core.python_source import called, parsed
from evolve.lang.languages import PYTHON, language_of
from evolve.lang.literals import Literal, literals, with_values
from evolve.propose.tuning.search import Dimension, Point

REACH = 16
"""A number may become at most this many times as large, or as small."""

_TOLERANCE = 1e-8
_INFINITY = 1e9
_STRUCTURE = (0, 1, 2)
_SEEDED = frozenset({"random", "randomstate", "default_rng", "seed", "seedsequence", "prngkey"})
"""What is made or reset with a seed, in lower case. `random()` itself is given no number."""
_DECIMAL = re.compile(r"(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d[\d_]*+)(?:[eE][+-]?\d++)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number to be searched: in which file and where it stands, what to call it, and within which bounds."""

    path: str
    literal: Literal
    label: str
    dimension: Dimension


def parameters(files: Files) -> tuple[Parameter, ...]:
    """The numbers of a program that are worth searching, in the order of the files and their texts. Raises ProgramError
    if evolve blocks are broken, or a file should be Python and is not."""
    return tuple(number for path, source in files.items() for number in _of_file(path, source, within=len(files) > 1))


def _of_file(path: str, source: str, *, within: bool) -> Iterator[Parameter]:
    """The numbers of one file; `within` a program of several, whose labels name the file."""
    language = language_of(path)
    blocks = [range(region.start + 1, region.stop + 1) for region in evolve_regions(source)]
    found = _of_python(source) if language is PYTHON else ((literal, "") for literal in literals(source, language))
    for literal, near in found:
        if (
            _is_worth(literal)
            and "seed" not in (literal.name or near).lower()
            and any(literal.line in block for block in blocks)
        ):
            label = f"{path}: {_label(literal, near)}" if within else _label(literal, near)
            yield Parameter(path=path, literal=literal, label=label, dimension=_dimension(literal.value))


def most_promising(candidates: Sequence[Parameter], most: int) -> tuple[Parameter, ...]:
    """The most promising parameters, in their order: constants with a name first, then fractions, then others."""
    ranked = sorted(candidates, key=lambda number: (number.literal.name is None, isinstance(number.literal.value, int)))
    return tuple(sorted(ranked[:most], key=lambda number: (number.path, number.literal.start)))


def applied(files: Files, parameters: Sequence[Parameter], point: Point) -> Files:
    """The program with the values of a point. Numbers that stay what they are keep their spelling."""
    values: dict[str, dict[Literal, int | float]] = {}
    for number, value in zip(parameters, point, strict=True):
        if value != number.literal.value:
            values.setdefault(number.path, {})[number.literal] = value
    return files.changed({path: with_values(files[path], of_file) for path, of_file in values.items()})


def _is_worth(literal: Literal) -> bool:
    value = literal.value
    if value == 0 and isinstance(value, float):
        return literal.name is not None
    if isinstance(value, int):
        return (literal.name is not None or value not in _STRUCTURE) and value < _INFINITY
    return _TOLERANCE < value < _INFINITY


def _dimension(value: int | float) -> Dimension:
    if isinstance(value, int):
        return Dimension(value=value, low=min(value, 1), high=max(value * REACH, REACH))
    if value == 0:
        return Dimension(value=value, low=0.0, high=1.0)
    return Dimension(value=value, low=value / REACH, high=value * REACH)


def _label(literal: Literal, near: str) -> str:
    """What a number is called, or else where it stands, and for what (`near`)."""
    if literal.name is not None:
        return literal.name
    return f"{near} (line {literal.line})" if near else f"line {literal.line}"


# -- Python --------------------------------------------------------------------------------------------------------


def _of_python(source: str) -> Iterator[tuple[Literal, str]]:
    """The decimal numbers of a Python program in order, each with the name that it is given to, if to any."""
    tree = parsed(source)
    lines = split_lines(source)
    starts = [0, *accumulate(map(len, lines))]
    literals: list[tuple[Literal, str]] = []
    for node, near, constant in _numbers(tree, "", False, top=True):
        line = node.lineno - 1
        if line >= len(lines) or node.end_lineno != node.lineno or node.end_col_offset is None:
            continue
        text = lines[line].encode("utf-8", "surrogatepass")  # columns of the syntax tree count its bytes
        first, last = (len(text[:at].decode("utf-8", "ignore")) for at in (node.col_offset, node.end_col_offset))
        start, stop = starts[line] + first, starts[line] + last
        value = node.value
        assert isinstance(value, int | float)
        if _DECIMAL.fullmatch(source[start:stop]) is None or type(value)(source[start:stop]) != value:
            continue  # hexadecimal; or a line break that Python counts and a patch does not
        literal = Literal(start=start, stop=stop, line=line + 1, name=near if constant else None, value=value)
        literals.append((literal, near))
    yield from sorted(literals, key=lambda pair: pair[0].start)


def _numbers(node: ast.AST, near: str, constant: bool, *, top: bool) -> Iterator[tuple[ast.Constant, str, bool]]:
    """The numbers under a node, each with the name that it is given to, and whether that is a constant's: a name of the
    module, or one in capitals."""
    if isinstance(node, ast.JoinedStr):  # before Python 3.12 what stands in one has no place of its own
        return
    if isinstance(node, ast.Constant):
        if type(node.value) in (int, float):
            yield node, near, constant
        return
    if isinstance(node, ast.Call) and called(node).lower() in _SEEDED:
        return
    for child in _but_indices(node):
        name = _name_for(node, child)
        named = bool(name) and _is_plain(child) and (top or (len(name) > 1 and name.isupper()))
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef)
        yield from _numbers(child, name or ("" if inside else near), named or constant, top=top and not inside)


def _but_indices(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node, but for numbers that are an index or one of several (`grid[1, 4]`); a slice is none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Subscript) and child is node.slice:
            yield from (part for part in _indices(child) if not _is_plain(part))
        else:
            yield child


def _indices(index: ast.expr) -> Iterator[ast.expr]:
    if isinstance(index, ast.Tuple):
        for element in index.elts:
            yield from _indices(element)
    else:
        yield index


def _name_for(node: ast.AST, child: ast.AST) -> str:
    if isinstance(node, ast.Assign) and child is node.value and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and child is node.value and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.keyword):
        return node.arg or ""
    if isinstance(node, ast.arguments):
        for args, defaults in (([*node.posonlyargs, *node.args], node.defaults), (node.kwonlyargs, node.kw_defaults)):
            for arg, default in zip(reversed(args), reversed(defaults), strict=False):
                if default is child:
                    return arg.arg
    return ""


def _is_plain(node: ast.AST) -> bool:
    """Whether a node is a number alone, with its sign."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
