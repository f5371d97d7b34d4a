"""Shows another program as what differs from the one to be changed. Pure."""

import ast
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum

from evaluator.program_files import Files
from evolve.core.errors import ProgramError
from evolve.core.program import marker
from evolve.core.python_source import first_line, parsed
from evolve.lang.languages import PYTHON, Language, language_of

_WORTH = 0.75
"""What differs is shown in place of a program where it takes at most this share of the room that the whole takes."""
_CONTEXT = 2
_MOST_CELLS = 1_000_000
"""Lines of the one program times those of the other up to which a diff is made: what many equal lines can take grows
faster than that."""


class Form(StrEnum):
    """How another program is shown."""

    WHOLE = "whole"
    DIFF = "diff"  # the lines of a unified diff from the parent to it, without its head
    PARTS = "parts"  # the statements of the module (definitions, constants) that do not stand in the parent, each whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOther:
    """What is shown of another program. `absent` are definitions of the parent that it does not have, where `text`
    does not say so."""

    form: Form
    text: str
    absent: tuple[str, ...] = ()


def difference_of(other: Files, parent: Files, language: Language, *, whole_parts: bool) -> ShownOther:
    """`difference` of two programs; of several files each that differs stands under a line with its path."""
    if len(other) == len(parent) == 1:
        return difference(other.only, parent.only, language, whole_parts=whole_parts)
    texts, forms, absent = list[str](), set[Form](), list[str]()
    for path in sorted({*other, *parent}):
        if path not in other:
            absent.append(path)
        elif other[path] != parent.get(path):
            shown = difference(other[path], parent.get(path, ""), language_of(path), whole_parts=whole_parts)
            texts.append(f"FILE: {path}\n{shown.text}")
            forms.add(shown.form)
            absent += [f"{path}: {name}" for name in shown.absent]
    form = Form.DIFF if Form.DIFF in forms else Form.PARTS
    return ShownOther(form=form, text="\n\n".join(texts), absent=tuple(absent))


def difference(other: str, parent: str, language: Language, *, whole_parts: bool) -> ShownOther:
    """What to show of the source `other` next to that of the parent: a diff or the parts that differ, whatever is
    shorter; all of it where that saves little. `whole_parts`: never a diff, for what is to be taken must stand whole.
    """
    parts = [] if language is not PYTHON else _parts(other, parent)
    if not whole_parts and (other.count("\n") + 1) * (parent.count("\n") + 1) <= _MOST_CELLS:
        parts.append(_diff(other, parent))
    shortest = min(parts, key=_length, default=None)
    if shortest is None or _length(shortest) > _WORTH * len(other) or not shortest.text.strip():
        return ShownOther(form=Form.WHOLE, text=other)
    return shortest


def _length(shown: ShownOther) -> int:
    return len(shown.text) + sum(map(len, shown.absent))


def _diff(other: str, parent: str) -> ShownOther:
    lines = unified_diff(parent.split("\n"), other.split("\n"), lineterm="", n=_CONTEXT)
    return ShownOther(form=Form.DIFF, text="\n".join(list(lines)[2:]))


def _parts(other: str, parent: str) -> list[ShownOther]:
    """The parts that differ, alone in a list; an empty one where a source does not parse."""
    try:
        new, old = _statements(other), _statements(parent)
    except ProgramError:
        return []
    old_texts, names = {text for text, _ in old}, {name for _, name in new}
    shown = [text for text, _ in new if text not in old_texts]
    absent = tuple(name for _, name in old if name and name not in names)
    return [ShownOther(form=Form.PARTS, text="\n\n".join(shown), absent=absent)]


def _statements(source: str) -> list[tuple[str, str]]:
    """The statements of the module with the comments above them, markers aside, and what each defines ("": nothing).
    Statements that share a line are one."""
    lines, statements, above = source.split("\n"), list[tuple[str, str]](), 0
    starts = list[tuple[int, int, str]]()
    for node in parsed(source).body:
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        first, last = first_line(node), node.end_lineno or node.lineno
        if starts and first <= starts[-1][1]:
            starts[-1] = (starts[-1][0], last, starts[-1][2])
        else:
            starts.append((first, last, name))
    for _, last, name in starts:
        text = "\n".join(line.rstrip() for line in lines[above:last] if not marker(line)).strip("\n")
        statements.append((text, name))
        above = last
    return statements
