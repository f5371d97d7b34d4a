"""How a definition takes part in a program: as a member of a slot, or in a statement on the entry function's result.

A *slot* is a top-level name in capitals bound to a tuple of names (`NEIGHBOURHOODS = (move, swap)`), or to one name
or None (`ACCEPT = better`). A *result statement* stands at the end of the entry function, right before its
`return result`, and makes a new result of the old one: `result = improve(result)`.
"""

import ast
import copy
from dataclasses import dataclass

from evolve.core.python_source import first_line
from evolve.propose.offline.outline import Function, Item, Outline, assignment, names_read

NEW_RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place where `name` takes part: a slot, or a result statement (then `slot` is None)."""

    name: str
    slot: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The end of the entry function: the name that it returns (None for any other expression), its return
    statement, and the result statements right before it, in order."""

    name: str | None
    returned: ast.Return
    statements: tuple[ast.Assign, ...]


def results(outline: Outline) -> Results | None:
    """The end of the entry function; None when it does not end in `return` with a value, or may not be edited."""
    if outline.entry is None or not isinstance(outline.entry.node, Function):
        return None
    body = outline.entry.node.body
    last = body[-1]
    if not isinstance(last, ast.Return) or last.value is None or not _begins_line(outline, last):
        return None
    if not isinstance(last.value, ast.Name):
        return Results(name=None, returned=last, statements=())
    assignments: list[ast.Assign] = []
    for node in reversed(body[:-1]):
        if not _is_result_statement(node, last.value.id) or not _begins_line(outline, node):
            break
        assert isinstance(node, ast.Assign)
        assignments.insert(0, node)
    return Results(name=last.value.id, returned=last, statements=tuple(assignments))


def _begins_line(outline: Outline, node: ast.stmt) -> bool:
    return not outline.lines[node.lineno - 1].encode("utf-8")[: node.col_offset].strip()


def _is_result_statement(node: ast.stmt, name: str) -> bool:
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name
        and isinstance(node.value, ast.Call)
        and name in names_read(node.value)
    )


def slots(outline: Outline) -> dict[str, Item]:
    """The slots of a program by name, in the order in which they stand."""
    return {name: item for name, item in outline.bound.items() if name.isupper() and _is_slot(outline, item)}


def can_hold(outline: Outline, slot: str) -> bool:
    """Whether something can be put into `slot`: it is one already, or the name is free."""
    if slot in outline.immutable_names:
        return False
    return slot not in outline.bound or _is_slot(outline, outline.bound[slot])


def _is_slot(outline: Outline, item: Item) -> bool:
    value = item.node.value if isinstance(item.node, ast.Assign) else None
    if isinstance(value, ast.Tuple):
        return all(isinstance(member, ast.Name) for member in value.elts)
    if isinstance(value, ast.Name):
        return value.id in outline.bound and outline.bound[value.id].is_definition
    return value is not None and _is_none(value)


def members(outline: Outline, slot: str) -> tuple[str, ...]:
    """The names in a slot, of either kind; () for one that is empty or missing."""
    several = outline.tuple_members(slot)
    if several is not None:
        return several
    value = outline.assigned(slot)
    return (value.id,) if isinstance(value, ast.Name) else ()


def uses(outline: Outline) -> list[Use]:
    """Every use that can be taken out alone: the members of slots, and the functions of result statements."""
    uses_here = [Use(name=name, slot=slot) for slot in slots(outline) for name in members(outline, slot)]
    return uses_here + [Use(name=name, slot=None) for name in result_functions(outline)]


def result_functions(outline: Outline) -> list[str]:
    """For each result statement, the function that marks it: the last name of the evolve blocks that it reads."""
    end = results(outline)
    if end is None:
        return []
    return [marked for node in end.statements if (marked := marking_name(outline, node.value)) is not None]


def marking_name(outline: Outline, value: ast.expr) -> str | None:
    """The last function or class of the evolve blocks that an expression names, in the order of the text."""
    named = [part for part in ast.walk(value) if isinstance(part, ast.Name)]
    named.sort(key=lambda part: (part.lineno, part.col_offset))
    inside = [part.id for part in named if part.id in outline.bound and outline.bound[part.id].is_definition]
    return inside[-1] if inside else None


# -- edits: each returns a new source ----------------------------------------------------------------------------


def with_member(outline: Outline, slot: str, name: str) -> str:
    """The source with `name` added to a tuple slot, which is made if it is missing."""
    item = outline.bound.get(slot)
    if item is None:
        return outline.with_added(last=assignment(slot, [name]))
    return outline.with_replaced(item, assignment(slot, [*members(outline, slot), name]))


def with_single(outline: Outline, slot: str, name: str) -> str:
    """The source with a slot bound to one name, or to None (as the text "None")."""
    item = outline.bound.get(slot)
    text = f"{slot} = {name}\n"
    return outline.with_added(last=text) if item is None else outline.with_replaced(item, text)


def with_result(outline: Outline, expression: str, position: int) -> str | None:
    """The source with a result statement before the one at `position` (at the end, if there is none).

    `{result}` in the expression stands for the result so far. None if the entry function has no result to improve.
    """
    end = results(outline)
    if end is None or outline.entry is None:
        return None
    indent = outline.lines[end.returned.lineno - 1][: end.returned.col_offset]
    name = end.name or NEW_RESULT
    line = f"{indent}{name} = {expression.replace('{result}', name)}\n"
    lines = list(outline.lines)
    if end.name is None:
        assert end.returned.value is not None
        value = ast.get_source_segment(outline.source, end.returned.value) or ast.unparse(end.returned.value)
        start, stop = end.returned.lineno - 1, end.returned.end_lineno or end.returned.lineno
        lines[start:stop] = [f"{indent}{name} = {value}\n", line, f"{indent}return {name}\n"]
    else:
        before = end.statements[position] if position < len(end.statements) else end.returned
        lines.insert(before.lineno - 1, line)
    return "".join(lines)


def without_start(outline: Outline) -> str | None:
    """The source whose entry function makes no result of its own: it begins with None, which its result statements
    make something of, as far as these read nothing else that it made. None where that is so already, or where the
    function may not be edited."""
    end, entry = results(outline), outline.entry
    if end is None or entry is None or not isinstance(entry.node, Function):
        return None
    body = entry.node.body[1 if ast.get_docstring(entry.node, clean=False) is not None else 0 :]
    if not _begins_line(outline, body[0]):
        return None
    name = end.name or NEW_RESULT
    first = body[0]
    if isinstance(first, ast.Assign) and _is_none(first.value) and len(body) == len(end.statements) + 2:
        return None
    given = {part.arg for part in ast.walk(entry.node.args) if isinstance(part, ast.arg)}
    bound = {name, *given, *outline.bound, *outline.immutable_names}
    kept = [node for node in end.statements if names_read(node) <= bound]
    indent = outline.lines[end.returned.lineno - 1][: end.returned.col_offset]
    lines = [f"{indent}{name} = None\n"]
    for node in kept:
        lines += outline.lines[node.lineno - 1 : node.end_lineno]
    lines.append(f"{indent}return {name}\n")
    stop = end.returned.end_lineno or end.returned.lineno
    return "".join([*outline.lines[: first_line(first) - 1], *lines, *outline.lines[stop:]])


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def without_use(outline: Outline, use: Use) -> str:
    """The source in which `use` is taken out; what it named stays defined."""
    if use.slot is None:
        end = results(outline)
        lines = list(outline.lines)
        for node in reversed(end.statements if end else ()):
            if marking_name(outline, node.value) == use.name:
                del lines[node.lineno - 1 : node.end_lineno]
                break
        return "".join(lines)
    item = outline.bound[use.slot]
    if outline.tuple_members(use.slot) is None:
        return outline.with_replaced(item, f"{use.slot} = None\n")
    kept = [name for name in members(outline, use.slot) if name != use.name]
    return outline.with_replaced(item, assignment(use.slot, kept))


def swept(before: Outline, source: str) -> str:
    """`source` without the definitions that served the entry point in `before` and serve nothing any more."""
    after = Outline(source, before.entry_point)
    idle = before.reached - after.reached
    return after.without(idle) if idle else source


def as_template(outline: Outline, node: ast.Assign) -> str:
    """A result statement's expression as text, with `{result}` where it reads the result so far."""
    end = results(outline)
    value = copy.deepcopy(node.value)
    for part in ast.walk(value):
        if isinstance(part, ast.Name) and end is not None and part.id == end.name:
            part.id = "_RESULT_SO_FAR_"
    return ast.unparse(value).replace("_RESULT_SO_FAR_", "{result}")
