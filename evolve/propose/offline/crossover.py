"""Crossover: carrying functions and constants over from another program, with what they need and how they are used."""

import ast
import random
from collections.abc import Iterable
from functools import lru_cache

from evolve.core.program import normalised_hash
from evolve.propose.offline.outline import Outline, joined, names_bound, names_read
from evolve.propose.offline.wiring import (
    as_template,
    marking_name,
    members,
    result_functions,
    results,
    slots,
    with_member,
    with_result,
    with_single,
)

_code = lru_cache(maxsize=4096)(normalised_hash)


def differing(receiver: Outline, donor: Outline) -> list[str]:
    """What could be carried over: names that serve the donor and that the receiver lacks, has otherwise, or has
    without using them. In the donor's order; imports and slots are carried only with what needs them."""
    names: list[str] = []
    donor_slots = slots(donor)
    for name, item in donor.bound.items():
        if name not in donor.reached or item.is_import or name in donor_slots or len(item.binds) != 1:
            continue
        if name in receiver.immutable_names:
            continue
        mine = receiver.bound.get(name)
        if mine is None or _code(receiver.text(mine)) != _code(donor.text(item)) or name not in receiver.reached:
            names.append(name)
    return names


def carry(receiver: Outline, donor: Outline, name: str, rng: random.Random) -> str | None:
    """The receiver's source with the donor's `name`, all that it needs and the receiver lacks, and used as there.

    None if nothing in the receiver would use it: it is then no change in what the program does.
    """
    mine = receiver.bound.get(name)
    source = receiver.source
    if mine is not None:
        source = receiver.with_replaced(mine, donor.text(donor.bound[name]))
    outline = _with_needed(Outline(source, receiver.entry_point), donor, [name])
    if name not in outline.reached:
        outline = _used(outline, donor, name, rng)
    return outline.source if name in outline.reached else None


def _with_needed(outline: Outline, donor: Outline, names: Iterable[str]) -> Outline:
    """The receiver with every item of the donor that `names` need and the receiver does not have."""
    needed = donor.closure(names)
    available = set(outline.bound) | outline.immutable_names
    donor_slots = slots(donor)
    taken = [
        item
        for item in donor.items
        if needed.intersection(item.binds) and not item.is_import and not set(item.binds) <= available
    ]
    read = {read for name in needed for read in donor.bound[name].reads}
    imports = []
    for node in donor.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = set(names_bound(node))
            if bound & read and not bound <= available:
                imports.append(ast.unparse(node))
    definitions = joined(donor.text(item) for item in taken if item.binds[0] not in donor_slots)
    last = joined(donor.text(item) for item in taken if item.binds[0] in donor_slots)
    if not (imports or definitions or last):
        return outline
    return Outline(outline.with_added(imports=imports, definitions=definitions, last=last), outline.entry_point)


def _used(outline: Outline, donor: Outline, name: str, rng: random.Random) -> Outline:
    """The receiver with `name` in the slots and result statements that use it in the donor."""
    for slot in slots(donor):
        if name not in members(donor, slot) or name in members(outline, slot) or slot not in outline.reached:
            continue
        edit = with_single if donor.tuple_members(slot) is None else with_member
        outline = Outline(edit(outline, slot, name), outline.entry_point)
    end = results(donor)
    for node in end.statements if end is not None else ():
        if marking_name(donor, node.value) != name:
            continue
        outline = _with_needed(outline, donor, names_read(node))
        count = len(result_functions(outline))
        position = count if rng.random() < 0.7 else rng.randint(0, count)
        source = with_result(outline, as_template(donor, node), position)
        if source is not None:
            outline = Outline(source, outline.entry_point)
    return outline
