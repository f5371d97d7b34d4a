"""A program's evolvable top level as items that can be added, replaced and taken away, as text.

An *item* is one top-level statement inside an evolve block with the comments that stand directly above it. Every
edit goes through the source's lines, so that what is not edited stays as it was written.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evolve.core.program import Region, evolve_regions, marker, split_lines
from evolve.core.python_source import first_line, parsed, tree_of

MAX_LINE = 100
_DEFINITION = re.compile(r"(@|def |class |async )")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Lines `start` to `stop` (from 0, `stop` not included): the names they bind and the names they read."""

    start: int
    stop: int
    node: ast.stmt
    binds: tuple[str, ...]
    reads: frozenset[str]

    @property
    def is_import(self) -> bool:
        """Whether the item is an import."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_definition(self) -> bool:
        """Whether the item defines a function or a class."""
        return isinstance(self.node, Function | ast.ClassDef)


class Outline:
    """What can be read from one source. Nothing here changes; the edits below return new sources."""

    def __init__(self, source: str, entry_point: str) -> None:
        self.source = source
        self.entry_point = entry_point
        self.lines = split_lines(source)
        self.tree = parsed(source)
        self.regions: tuple[Region, ...] = evolve_regions(source)
        self.items: tuple[Item, ...] = tuple(
            _item(node, self.lines, region)
            for node in _alone_on_their_lines(source, self.tree)
            for region in self.regions
            if node.lineno > region.start and (node.end_lineno or node.lineno) <= region.stop
        )

    @cached_property
    def bound(self) -> Mapping[str, Item]:
        """The item that binds a name, for every name bound inside the evolve blocks (the last one of several)."""
        return {name: item for item in self.items for name in item.binds}

    @cached_property
    def imports(self) -> frozenset[str]:
        """The import statements of the whole program, as text."""
        return frozenset(ast.unparse(node) for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom))

    @cached_property
    def immutable_names(self) -> frozenset[str]:
        """The names that no item binds but the top level does: outside the evolve blocks, or out of our reach."""
        inside = {id(item.node) for item in self.items}
        return frozenset(name for node in self.tree.body if id(node) not in inside for name in names_bound(node))

    @cached_property
    def reached(self) -> frozenset[str]:
        """The names inside the evolve blocks that the entry point, or immutable text, reads directly or not. Without an
        entry point a script may call any definition."""
        inside = {id(item.node) for item in self.items}
        roots = (
            {self.entry_point}
            if self.entry_point
            else {name for name, item in self.bound.items() if item.is_definition}
        )
        for node in self.tree.body:
            if id(node) not in inside or not names_bound(node):
                roots |= names_read(node)
        return self.closure(roots)

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """Those of `names` that are bound inside the blocks, and every such name that they read, directly or not."""
        closure: set[str] = set()
        waiting = [name for name in names if name in self.bound]
        while waiting:
            name = waiting.pop()
            if name not in closure:
                closure.add(name)
                waiting.extend(read for read in self.bound[name].reads if read in self.bound)
        return frozenset(closure)

    @cached_property
    def entry(self) -> Item | None:
        """The entry function, if it may be edited."""
        item = self.bound.get(self.entry_point)
        return item if item is not None and isinstance(item.node, Function) else None

    def text(self, item: Item) -> str:
        """The lines of an item."""
        return "".join(self.lines[item.start : item.stop])

    def tuple_members(self, slot: str) -> tuple[str, ...] | None:
        """The names in the tuple that `slot` is bound to; None where it is bound to anything else, or to nothing."""
        value = self.assigned(slot)
        if isinstance(value, ast.Tuple) and all(isinstance(member, ast.Name) for member in value.elts):
            return tuple(member.id for member in value.elts if isinstance(member, ast.Name))
        return None

    def assigned(self, name: str) -> ast.expr | None:
        """What a name is bound to by an assignment of its own; None where it is not."""
        item = self.bound.get(name)
        return item.node.value if item is not None and isinstance(item.node, ast.Assign) else None

    # -- edits: each returns a new source ------------------------------------------------------------------------

    def with_added(self, *, imports: Sequence[str] = (), definitions: str = "", last: str = "") -> str:
        """The source with imports at the start of the entry function's block, definitions (whole items) above the
        entry function, and `last` (assignments, mostly) at the block's end, where all that it names is defined."""
        if self.entry is None:
            definitions, last = "", "\n\n".join(text for text in (definitions, last) if text)
        splices: list[tuple[int, int, list[str]]] = []
        if last:
            splices.append(self._last(last))
        if definitions and self.entry is not None:
            at = self.entry.start
            splices.append((at, at, [*_whole_lines(definitions), "\n", "\n"]))
        if imports:
            splices.append(self._first(imports))
        lines = list(self.lines)
        for start, stop, new in splices:  # from the end to the start, so that positions hold
            lines[start:stop] = new
        return "".join(lines)

    def _first(self, imports: Sequence[str]) -> tuple[int, int, list[str]]:
        present = [item.stop for item in self.items if item.is_import and item.start >= self._home.start]
        at = max([stop for stop in present if stop <= self._home.stop], default=self._home.start)
        new = [text + "\n" for text in imports]
        if not present and at < len(self.lines) and self.lines[at].strip():
            new += ["\n", "\n"]
        return at, at, new

    def _last(self, text: str) -> tuple[int, int, list[str]]:
        at = self._home.stop
        while at > self._home.start and not self.lines[at - 1].strip():
            at -= 1
        above = self.items[-1] if self.items and self.items[-1].stop == at else None
        new = _whole_lines(text)
        if at > self._home.start and (above is None or above.is_definition or _DEFINITION.match(text)):
            new = ["\n", "\n", *new]
        return at, self._home.stop, new

    def with_replaced(self, item: Item, text: str) -> str:
        """The source with `text` in the place of an item."""
        return "".join([*self.lines[: item.start], *_whole_lines(text), *self.lines[item.stop :]])

    def without(self, names: Collection[str]) -> str:
        """The source without the items all of whose bound names are among `names`."""
        lines = list(self.lines)
        for item in sorted(self.items, key=lambda item: item.start, reverse=True):
            if item.binds and set(item.binds) <= set(names):
                stop = item.stop
                while stop < len(lines) and not lines[stop].strip():
                    stop += 1
                kept = lines[stop:]
                # At the end of a block the blank lines above go, too; elsewhere those below.
                start = item.start
                if kept and marker(kept[0]) == "END":
                    while start > 0 and not lines[start - 1].strip():
                        start -= 1
                lines = lines[:start] + kept
        return "".join(lines)

    @cached_property
    def _home(self) -> Region:
        """The block of the entry function, or else the last one."""
        if self.entry is not None:
            return next(region for region in self.regions if region.start <= self.entry.start < region.stop)
        return self.regions[-1]


def _whole_lines(text: str) -> list[str]:
    return split_lines(text.strip("\n") + "\n")


@lru_cache(maxsize=64)
def outlined(source: str, entry_point: str) -> Outline:
    """The outline of a program, remembered: parents and inspirations are looked at again and again."""
    return Outline(source, entry_point)


def names_bound(node: ast.stmt) -> tuple[str, ...]:
    """The names that a top-level statement binds."""
    if isinstance(node, Function | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return tuple(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return tuple(part.id for part in stored)


def names_read(node: ast.AST) -> frozenset[str]:
    """Every name that a statement mentions but for those that it assigns."""
    return frozenset(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    )


def _alone_on_their_lines(source: str, tree: ast.Module) -> list[ast.stmt]:
    """The top-level statements that can be edited by whole lines: those that share none with another statement."""
    if "\r" in source.replace("\r\n", ""):
        return []  # the parser counts a lone carriage return as a line end, and our lines do not
    lines = split_lines(source)
    alone = []
    for before, node, after in zip([None, *tree.body], tree.body, [*tree.body[1:], None], strict=False):
        begins_block = before is None or (before.end_lineno or before.lineno) < first_line(node)
        end = node.end_lineno or node.lineno
        goes_on = lines[end - 1].rstrip("\r\n").endswith("\\")  # into a line that is no part of its node
        if begins_block and not goes_on and (after is None or end < first_line(after)):
            alone.append(node)
    return alone


def _item(node: ast.stmt, lines: list[str], region: Region) -> Item:
    start = first_line(node) - 1
    while start > region.start and lines[start - 1].startswith("#"):
        start -= 1
    stop = node.end_lineno or node.lineno
    binds, reads = _names_in("".join(lines[start:stop]))
    return Item(start=start, stop=stop, node=node, binds=binds, reads=reads)


@lru_cache(maxsize=4096)
def _names_in(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names that the text of one statement binds and reads. Remembered: most items go from parent to child."""
    node = tree_of(text).body[0]
    return names_bound(node), names_read(node)


def assignment(slot: str, members: Iterable[str]) -> str:
    """The text that binds a slot to a tuple of names, on one line where it fits."""
    names = list(members)
    inside = ", ".join(names) + ("," if len(names) == 1 else "")
    line = f"{slot} = ({inside})\n"
    if len(line) <= MAX_LINE:
        return line
    return f"{slot} = (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def joined(texts: Iterable[str]) -> str:
    """Items as one text: two blank lines around those of several lines, none between those of one."""
    text, previous = "", None
    for part in texts:
        simple = part.strip("\n").count("\n") == 0
        if previous is not None:
            text += "" if simple and previous else "\n\n"
        text += part.strip("\n") + "\n"
        previous = simple
    return text
