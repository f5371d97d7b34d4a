"""Moving a numeric constant of a program: by a factor or by one."""

import ast
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from evolve.core.program import split_lines
from evolve.propose.offline.outline import Function, Outline

NAMED_SHARE = 0.85
"""How often a named constant is chosen over a number inside a function, where there are both."""

MAX_SIZE = 1e15
"""Larger numbers stand for infinity, and are left alone."""

_FACTORS = (0.5, 0.8, 1.25, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A number in a program: what it is called or where it stands, the literal, and its value."""

    label: str
    named: bool
    node: ast.Constant
    value: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A constant with its new value."""

    constant: Constant
    value: int | float

    @property
    def verb(self) -> str:
        """What happens to the constant, in one word."""
        return "raise" if self.value > self.constant.value else "lower"


def constants(outline: Outline) -> list[Constant]:
    """The numbers that the entry point depends on: constants with a name, and numbers inside functions.

    Numbers that are mostly structure are left alone: 0, 1 and 2, indices, and what is too small to be a quantity.
    """
    movable: list[Constant] = []
    for item in outline.items:
        if not outline.reached.intersection(item.binds):
            continue
        node = item.node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value
            number = _number(value) if isinstance(value, ast.Constant) and len(item.binds) == 1 else None
            if isinstance(value, ast.Constant) and number is not None:
                movable.append(Constant(label=item.binds[0], named=True, node=value, value=number))
        elif isinstance(node, Function | ast.ClassDef):
            for part in _literals(node):
                number = _number(part)
                if number is not None and number not in (0, 1, 2) and abs(number) > 1e-6:
                    label = f"the number in {node.name} (line {part.lineno})"
                    movable.append(Constant(label=label, named=False, node=part, value=number))
    return movable


def propose_move(
    outline: Outline, rng: random.Random, weigh: Callable[[Move], float] = lambda move: 1.0, verb: str = ""
) -> Move | None:
    """A seeded move of one constant, likelier the more it weighs, of the constants with a name; None when there is
    none. A `verb` says in which direction."""
    possible = [moves for constant in constants(outline) if (moves := _moves(constant, verb))]
    named = [moves for moves in possible if moves[0].constant.named]
    unnamed = [moves for moves in possible if not moves[0].constant.named]
    if named and (not unnamed or rng.random() < NAMED_SHARE):
        pool = {move: weigh(move) / len(moves) for moves in named for move in moves}
        return rng.choices(list(pool), weights=list(pool.values()))[0]
    return rng.choice(rng.choice(unnamed)) if unnamed else None


def _moves(constant: Constant, verb: str) -> list[Move]:
    moves = [Move(constant=constant, value=value) for value in new_values(constant.value)]
    return [move for move in moves if verb in ("", move.verb)]


def new_values(value: int | float) -> list[int | float]:
    """Where a number can move to: factors, and one up or down for an integer, whose sign and type are kept."""
    if isinstance(value, int):
        moved = [value + 1, value - 1, *(round(value * factor) for factor in _FACTORS)]
        if value > 0:
            moved = [number for number in moved if number > 0]
        return sorted({number for number in moved if number != value})
    if value == 0:
        return [-0.1, 0.1]
    return sorted({float(f"{value * factor:.4g}") for factor in _FACTORS} - {value})


def moved(source: str, move: Move) -> str:
    """The source with a constant's literal replaced."""
    node = move.constant.node
    lines = split_lines(source)
    # Columns of the syntax tree count bytes of UTF-8.
    line = lines[node.lineno - 1].encode("utf-8")
    assert node.end_col_offset is not None
    new = line[: node.col_offset] + repr(move.value).encode() + line[node.end_col_offset :]
    lines[node.lineno - 1] = new.decode("utf-8")
    return "".join(lines)


def _number(literal: ast.Constant) -> int | float | None:
    """A literal's value, if it is a number of a size that can be moved."""
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and abs(value) < MAX_SIZE else None


def _literals(node: ast.AST) -> list[ast.Constant]:
    """The literals under a node in the order of the text, but for indices."""
    literals: list[ast.Constant] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Constant):
            literals.append(child)
        elif isinstance(child, ast.Subscript):
            literals += _literals(child.value)
        else:
            literals += _literals(child)
    return literals
