"""Ingredients: the operators that a task's folder offers, and putting them into a program.

An ingredient is one Python file of at most 40 lines, with a header of comments that says what it is for, what it
builds on, and how it is wired in (programs/placement/ingredients/README.md tells how to write one):

    # role: neighbourhood
    # why: moving one model off the fullest GPU is the smallest change that can lower the maximum
    # needs: packing
    # wire: add to NEIGHBOURHOODS
"""

import ast
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from evolve.core.errors import InputError
from evolve.core.python_source import first_line, tree_of
from evolve.propose.offline.outline import Function, Outline, joined, names_bound, names_read
from evolve.propose.offline.wiring import can_hold, members, result_functions, with_member, with_result, with_single

MAX_LINES = 40
SHARED = "shared"
CONSTRUCTOR = "constructor"

_HEADER = re.compile(r"# (\w+): (.+)")
_KEYS = {"role", "why", "needs", "wire", "slots", "wants"}
_WIRE = re.compile(r"(add to|set) ([A-Z][A-Z0-9_]*)|result = ((?>.*?\{result\}).*)")
_SLOT = re.compile(r"([A-Z][A-Z0-9_]*) = (\(\)|None)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A top-level statement of an ingredient: the names that it binds, and its text."""

    binds: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredient:
    """One operator. `main` is the function that stands for it; exactly one of `member_of`, `sets` and `result` says
    how it is wired (none for a shared one). `slots` are those that it reads, with the text of their empty value,
    and `wants` are those that must not be empty for it to do anything."""

    name: str
    main: str
    role: str
    why: str
    needs: tuple[str, ...]
    slots: tuple[tuple[str, str], ...]
    wants: tuple[str, ...]
    member_of: str | None
    sets: str | None
    result: str | None
    imports: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def constructs(self) -> bool:
        """Whether it makes a result of its own, out of none: its `{result}` may be None."""
        return self.role == CONSTRUCTOR and self.result is not None

    @property
    def slot(self) -> str | None:
        """The slot that it goes into, if it goes into one."""
        return self.member_of or self.sets


class Library:
    """The ingredients of one folder."""

    def __init__(self, ingredients: Mapping[str, Ingredient]) -> None:
        self._ingredients = dict(ingredients)
        self.operators = tuple(item for item in self._ingredients.values() if item.role != SHARED)
        self._by_main = {item.main: item for item in self.operators}

    def of(self, main: str) -> Ingredient | None:
        """The operator whose function is called `main`."""
        return self._by_main.get(main)

    def with_needs(self, ingredient: Ingredient) -> list[Ingredient]:
        """The ingredient after all that it needs, directly or not, each once."""
        needed: list[Ingredient] = []

        def visit(item: Ingredient) -> None:
            for need in item.needs:
                visit(self._ingredients[need])
            if item not in needed:
                needed.append(item)

        visit(ingredient)
        return needed

    def slots_read(self, ingredient: Ingredient) -> dict[str, str]:
        """The slots that an ingredient reads, itself or through what it needs, with their empty values."""
        return {slot: empty for item in self.with_needs(ingredient) for slot, empty in item.slots}


def load_library(folder: Path | None) -> Library:
    """Read the ingredients in a folder (None: there are none). Raises InputError for a file that is not one."""
    if folder is None:
        return Library({})
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder of ingredients")
    ingredients = {path.stem: read_ingredient(path) for path in sorted(folder.glob("*.py"))}
    for name, ingredient in ingredients.items():
        for need in ingredient.needs:
            if need not in ingredients:
                raise InputError(f"{folder / name}.py: needs {need!r}, but there is no {need}.py in that folder")
            if ingredients[need].role != SHARED:
                raise InputError(f"{folder / name}.py: needs {need!r}, which is an operator, not a shared one")
    _check_needs(folder, ingredients)
    _check_names(folder, ingredients)
    library = Library(ingredients)
    for name, ingredient in ingredients.items():
        for slot in ingredient.wants:
            if slot not in library.slots_read(ingredient):
                raise InputError(f"{folder / name}.py: wants {slot}, but neither it nor its needs name it in slots")
    return library


def _check_names(folder: Path, ingredients: Mapping[str, Ingredient]) -> None:
    owner: dict[str, str] = {}
    for name, ingredient in ingredients.items():
        for bound in (bound for part in ingredient.parts for bound in part.binds):
            if owner.setdefault(bound, name) != name:
                raise InputError(f"{folder / name}.py: defines {bound}, as {owner[bound]}.py does")


def _check_needs(folder: Path, ingredients: Mapping[str, Ingredient]) -> None:
    try:
        TopologicalSorter({name: ingredient.needs for name, ingredient in ingredients.items()}).prepare()
    except CycleError as cycle:
        name = min(cycle.args[1])
        raise InputError(f"{folder / name}.py: needs itself, directly or through what it needs") from None


def read_ingredient(path: Path) -> Ingredient:
    """Read one ingredient. Raises InputError, which names the file and what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = tree_of(text)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as cause:
        raise InputError(f"{path}: cannot be read as Python ({cause})") from None
    lines = text.splitlines(keepends=True)
    if len(lines) > MAX_LINES:
        raise InputError(f"{path}: has {len(lines)} lines; an ingredient is one operator of at most {MAX_LINES}")
    header = _header(path, lines)
    role, wire = header["role"], header.get("wire")
    mains = [
        node.name
        for node in tree.body
        if isinstance(node, Function) or (role == SHARED and isinstance(node, ast.ClassDef))
    ]
    if not mains:
        raise InputError(f"{path}: defines no function")
    if (wire is None) != (role == SHARED):
        raise InputError(f"{path}: an operator needs a `# wire:` line, and only an ingredient of role shared has none")
    wired = _WIRE.fullmatch(wire) if wire is not None else None
    if wire is not None and wired is None:
        raise InputError(
            f"{path}: wire is {wire!r}; it must be `add to SLOT`, `set SLOT` or `result = ...{{result}}...`"
        )
    how, slot, result = wired.groups() if wired is not None else (None, None, None)
    if result is not None and mains[-1] not in result:
        raise InputError(f"{path}: wire does not mention {mains[-1]}, the last function of the file")
    return Ingredient(
        name=path.stem,
        main=mains[-1],
        role=role,
        why=header["why"],
        needs=_listed(header.get("needs", "")),
        slots=_slots(path, header.get("slots", "")),
        wants=_listed(header.get("wants", "")),
        member_of=slot if how == "add to" else None,
        sets=slot if how == "set" else None,
        result=result,
        imports=tuple(ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)),
        parts=_parts(tree, lines),
    )


def _header(path: Path, lines: Sequence[str]) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in lines:
        match = _HEADER.fullmatch(line.rstrip())
        if match is None:
            break
        if match[1] not in _KEYS:
            raise InputError(f"{path}: unknown header {match[1]!r}; there is {', '.join(sorted(_KEYS))}")
        header[match[1]] = match[2].strip()
    for key in ("role", "why"):
        if key not in header:
            raise InputError(f"{path}: its header lacks `# {key}: ...`")
    return header


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _slots(path: Path, text: str) -> tuple[tuple[str, str], ...]:
    matches = [_SLOT.fullmatch(entry) for entry in _listed(text)]
    if not all(matches):
        raise InputError(f"{path}: slots is {text!r}; it must be like `NEIGHBOURHOODS = (), ACCEPT = None`")
    return tuple((entry[1], entry[2]) for entry in matches if entry is not None)


def _parts(tree: ast.Module, lines: Sequence[str]) -> tuple[Part, ...]:
    return tuple(
        Part(binds=names_bound(node), text="".join(lines[first_line(node) - 1 : node.end_lineno]))
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom)
    )


# -- putting one in ----------------------------------------------------------------------------------------------


def applicable(library: Library, outline: Outline, ingredient: Ingredient) -> bool:
    """Whether an ingredient can be put into a program, and could do anything there."""
    if ingredient.main in outline.immutable_names:
        return False
    slots = [*library.slots_read(ingredient), *([ingredient.slot] if ingredient.slot else [])]
    if not all(can_hold(outline, slot) for slot in slots):
        return False
    if ingredient.sets is not None:
        return ingredient.sets in outline.reached and ingredient.main not in members(outline, ingredient.sets)
    if ingredient.member_of is not None:
        return ingredient.main not in members(outline, ingredient.member_of) or (
            ingredient.member_of not in outline.reached and bool(_readers(library, outline, ingredient.member_of))
        )
    if outline.entry is None or not isinstance(outline.entry.node, Function):
        return False
    return ingredient.main not in result_functions(outline) and _callable_here(library, outline, ingredient)


def _callable_here(library: Library, outline: Outline, ingredient: Ingredient) -> bool:
    """Whether every name in a result ingredient's wiring will mean something inside the entry function."""
    assert ingredient.result is not None and outline.entry is not None
    node = outline.entry.node
    assert isinstance(node, Function)
    names = {argument.arg for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
    names |= {"result"} | set(outline.bound) | outline.immutable_names
    for item in library.with_needs(ingredient):
        names |= {name for part in item.parts for name in part.binds}
    return names_read(tree_of(ingredient.result.replace("{result}", "result"))) <= names


def _readers(library: Library, outline: Outline, slot: str) -> list[Ingredient]:
    return [
        item
        for item in library.operators
        if item.result is not None and slot in library.slots_read(item) and applicable(library, outline, item)
    ]


Weigh = Callable[[Ingredient], float]


def drawn(ingredients: Sequence[Ingredient], weigh: Weigh, rng: random.Random) -> Ingredient:
    """One of several ingredients, likelier the more it weighs."""
    return rng.choices(ingredients, weights=[weigh(item) for item in ingredients])[0]


def insert(
    library: Library,
    outline: Outline,
    ingredient: Ingredient,
    rng: random.Random,
    position: int | None = None,
    weigh: Weigh = lambda ingredient: 1.0,
) -> tuple[str, list[Ingredient]] | None:
    """The source with an ingredient defined and wired, and what was put in, the ingredient first.

    What would leave it without effect is repaired in the same edit: a slot that it wants and that is empty gets one
    operator, and an operator whose slot nothing reads brings one ingredient that reads it. `position` is where its
    result statement goes; None chooses. `weigh` says which of several such ingredients is likelier. None is returned if
    the program has no place for it.
    """
    source = _defined(library, outline, ingredient)
    inserted = [ingredient]
    outline = Outline(source, outline.entry_point)
    if ingredient.member_of is not None:
        if ingredient.main not in members(outline, ingredient.member_of):
            source = with_member(outline, ingredient.member_of, ingredient.main)
    elif ingredient.sets is not None:
        source = with_single(outline, ingredient.sets, ingredient.main)
    elif ingredient.result is not None:
        if position is None:
            # Mostly last, where it sees the best result so far; sometimes earlier, where others build on its own.
            count = len(result_functions(outline))
            position = count if rng.random() < 0.7 else rng.randint(0, count)
        placed = with_result(outline, ingredient.result, position)
        if placed is None:
            return None
        source = placed
    outline = Outline(source, outline.entry_point)
    partner = _partner(library, outline, ingredient, rng, weigh)
    if partner is not None:
        more = insert(library, outline, partner, rng, weigh=weigh)
        if more is None:
            return None
        source, remaining = more
        inserted += remaining
    return source, inserted


def _partner(
    library: Library, outline: Outline, ingredient: Ingredient, rng: random.Random, weigh: Weigh
) -> Ingredient | None:
    """The ingredient without which the one just inserted would do nothing; None if it lacks none."""
    if ingredient.slot is not None and ingredient.slot not in outline.reached:
        readers = _readers(library, outline, ingredient.slot)
        return drawn(readers, weigh, rng) if readers else None
    for slot in ingredient.wants:
        if not members(outline, slot):
            fitting = [item for item in library.operators if item.slot == slot]
            if fitting:
                return drawn(fitting, weigh, rng)
    return None


def _defined(library: Library, outline: Outline, ingredient: Ingredient) -> str:
    """The source with the definitions, imports and slots of an ingredient and of all that it needs."""
    bound = set(outline.bound) | outline.immutable_names
    needed = library.with_needs(ingredient)
    parts = [part for item in needed for part in item.parts if not set(part.binds) & bound]
    empty = [f"{slot} = {value}\n" for slot, value in library.slots_read(ingredient).items() if slot not in bound]
    imports = dict.fromkeys(text for item in needed for text in item.imports if text not in outline.imports)
    return outline.with_added(imports=list(imports), definitions=joined([p.text for p in parts]), last="".join(empty))
