"""What is certain to go wrong when a Python program is run: names that are bound nowhere, calls with wrong arguments.

A fault is told only when three agree: the scopes of the program (`scopes`), pyflakes where it is a name, and that the
line is run for all that is known (`reach`). Whatever is doubtful is left to the evaluation.
"""

import ast
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from evolve.errors import PatchError
from evolve.patch.format import PatchReason, shown
from evolve.patch.reach import Reach
from evolve.patch.scopes import Function, Scopes
from evolve.program import split_lines
from evolve.python_source import deeper_than, parsed

_MOST_TOLD: Final = 8
_MAX_LEVELS: Final = 100  # of the tree that pyflakes walks by recursion, with three frames a level


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainFault:
    """A line that fails whenever it runs. `what` says the same of every program that has it, wherever it stands."""

    line: int
    what: str
    message: str


def check_faults(source: str, *, parent_source: str, parent_works: bool, entry_point: str) -> None:
    """Raise PatchError if a line that `source` runs is certain to fail, and a parent that works has not got it too.

    `source` is Python, and nobody but itself binds names in it: it is executed, then `entry_point` is called.
    """
    found = faults(source, entry_point)
    if found and parent_works:
        harmless = {fault.what for fault in faults(parent_source, entry_point)}
        found = [fault for fault in found if fault.what not in harmless]
    if not found:
        return
    lines = split_lines(source)
    told = [f"{fault.message}\n{fault.line:5d} | {shown(lines[fault.line - 1])}" for fault in found[:_MOST_TOLD]]
    more = f"\nand {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    raise PatchError(
        PatchReason.WOULD_FAIL,
        "The program that results is certain to fail: "  # the first fault in the first line, which is what others see
        + "\n".join(told)
        + f"{more}\nLines are numbered as the patch would leave them. Mend this. Nothing was applied: send the whole "
        "patch again.",
    )


def faults(source: str, entry_point: str) -> list[CertainFault]:
    """What is certain to fail in a Python program, in the order of its lines. Raises ProgramError without a tree."""
    tree = parsed(source)
    scopes = Scopes(tree)
    names = scopes.unbound()
    calls = [
        (call, function, wrong)
        for call, function in scopes.plain_calls()
        if (wrong := wrong_arguments(call, function.args)) is not None
    ]
    if not (names or calls) or deeper_than(tree, _MAX_LEVELS):
        return []
    run = Reach(tree, entry_point).nodes
    found = [_wrong_call(call, function, wrong) for call, function, wrong in calls if call in run]
    names = [(name, scope) for name, scope in names if name in run]
    if names:
        undefined = _undefined(tree)
        found += [_unbound(name, scopes) for name, _ in names if (name.lineno, name.col_offset, name.id) in undefined]
    return sorted(found, key=lambda fault: (fault.line, fault.message))


def wrong_arguments(call: ast.Call, arguments: ast.arguments) -> str | None:
    """Why a function with these `arguments` cannot be called so; None if it can, or if that is not certain."""
    if any(isinstance(given, ast.Starred) for given in call.args) or any(word.arg is None for word in call.keywords):
        return None
    by_place = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    if len(call.args) > len(by_place) and arguments.vararg is None:
        return f"takes {len(by_place)} by position"
    filled = set(by_place[: len(call.args)])
    by_name = {arg.arg for arg in (*arguments.args, *arguments.kwonlyargs)}
    for word in (str(keyword.arg) for keyword in call.keywords):
        if word in by_name and word in filled:
            return f"gets `{word}` twice"
        if word not in by_name and arguments.kwarg is None:
            return f"takes no keyword `{word}`"
        if word in by_name:
            filled.add(word)
    needed = by_place[: len(by_place) - len(arguments.defaults)]
    needed += [
        arg.arg for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    missing = [name for name in needed if name not in filled]
    return f"needs {len(needed)}: {_listed(missing)} missing" if missing else None


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + (" is" if len(names) == 1 else " are")


def _wrong_call(call: ast.Call, function: Function, wrong: str) -> CertainFault:
    count = len(call.args) + len(call.keywords)
    given = f"{count} argument{'' if count == 1 else 's'}"
    head = shown(f"def {function.name}({_parameters(function.args)})")
    return CertainFault(
        line=call.lineno,
        what=f"{head} {wrong}",
        message=f"line {call.lineno}: `{function.name}` is called with {given}; "
        f"`{head}` at line {function.lineno} {wrong}",
    )


def _parameters(arguments: ast.arguments) -> str:
    by_place = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    first = len(by_place) - len(arguments.defaults)
    told = [name if place < first else f"{name}=..." for place, name in enumerate(by_place)]
    if arguments.posonlyargs:
        told.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg is not None or arguments.kwonlyargs:
        told.append(f"*{arguments.vararg.arg if arguments.vararg is not None else ''}")
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        told.append(arg.arg if default is None else f"{arg.arg}=...")
    return ", ".join([*told, f"**{arguments.kwarg.arg}"] if arguments.kwarg is not None else told)


def _unbound(name: ast.Name, scopes: Scopes) -> CertainFault:
    elsewhere = [other for other in scopes.all if name.id in other.bound]
    if elsewhere:
        line = min(other.bound[name.id] for other in elsewhere)
        why = f"is bound only where this line does not see it (line {line})"
    else:
        why = "is bound nowhere in this file"
    return CertainFault(line=name.lineno, what=name.id, message=f"line {name.lineno}: name `{name.id}` {why}")


def _undefined(tree: ast.Module) -> set[tuple[int, int, str]]:
    """Line, column and name of what pyflakes calls undefined."""
    from pyflakes.messages import UndefinedName

    checked = _checker()(tree, withDoctest=False)
    return {
        (message.lineno, message.col, message.message_args[0])
        for message in checked.messages
        if type(message) is UndefinedName
    }


@cache
def _checker() -> Any:
    """pyflakes' checker, but for annotations in quotes: they are not evaluated, and it would parse them itself."""
    from pyflakes.checker import Checker

    class Unquoted(Checker):  # type: ignore[misc]  # pyflakes has no types
        def handleStringAnnotation(self, *_: object) -> None:  # noqa: N802 - its name there
            """Look at none."""

    return Unquoted
