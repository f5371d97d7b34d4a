"""Edits of programs of which nothing is known but their numbers and their evolve blocks: any language, any file.

A number is moved as in Python. Crossover carries over what can be carried without knowing what needs it: the values of
constants that both programs have under one name, or, in programs of several evolve blocks, one whole block.
"""

import random
from collections.abc import Sequence

from evaluator.program_files import Files
from evolve.core.program import evolve_regions, split_lines
from evolve.lang.languages import PYTHON, Language
from evolve.lang.literals import Literal, literals, with_values
from evolve.proposal import ScoredProgram
from evolve.propose.offline.constants import MAX_SIZE, NAMED_SHARE, new_values
from evolve.propose.offline.edits import Edit
from evolve.propose.tuning.literals import parameters


def movable(source: str, language: Language) -> list[Literal]:
    """The numbers of the evolve blocks that can be moved: constants with a name, and what is more than structure."""
    lines = [range(region.start + 1, region.stop + 1) for region in evolve_regions(source)]
    return [
        literal
        for literal in _literals(source, language)
        if abs(literal.value) < MAX_SIZE
        and (literal.name is not None or (literal.value not in (0, 1, 2) and abs(literal.value) > 1e-6))
        and any(literal.line in block for block in lines)
    ]


def _literals(source: str, language: Language) -> Sequence[Literal]:
    if language is PYTHON:  # a file of several: its parts may serve other files
        return [number.literal for number in parameters(Files.single("program.py", source))]
    return literals(source, language)


def number_moved(source: str, language: Language, rng: random.Random) -> Edit | None:
    """Move one number; None where there is none."""
    literals = movable(source, language)
    named = [literal for literal in literals if literal.name is not None]
    unnamed = [literal for literal in literals if literal.name is None]
    pool = named if named and (not unnamed or rng.random() < NAMED_SHARE) else unnamed
    if not pool:
        return None
    literal = rng.choice(pool)
    value = rng.choice(new_values(literal.value))
    verb = "raise" if value > literal.value else "lower"
    label = literal.name or f"the number in line {literal.line}"
    return Edit(
        source=with_values(source, {literal: value}),
        name=f"{verb}_{(literal.name or 'number').lower()}",
        description=f"{verb} {label} from {literal.value!r} to {value!r}",
    )


def parts_taken(
    source: str, language: Language, inspirations: Sequence[ScoredProgram], rng: random.Random
) -> Edit | None:
    """Take something over from another program; None where no program has anything that this one has otherwise."""
    donors = list(inspirations)
    rng.shuffle(donors)
    for donor in donors:
        taken = _blocks_taken(source, donor.program.files.only, rng) or _values_taken(
            source, donor.program.files.only, language, rng
        )
        if taken is not None:
            new, what = taken
            return Edit(
                source=new,
                name=f"take_{'_'.join(what.lower().split())}",
                description=f"take {what} from generation {donor.program.generation}, which has it otherwise",
            )
    return None


def _values_taken(source: str, donor: str, language: Language, rng: random.Random) -> tuple[str, str] | None:
    theirs = {literal.name: literal.value for literal in movable(donor, language) if literal.name is not None}
    differing = {
        literal: theirs[literal.name]
        for literal in movable(source, language)
        if literal.name in theirs and theirs[literal.name] != literal.value
    }
    if not differing:
        return None
    # Not all of them, where there are several: that would often be the other program itself.
    chosen = rng.sample(list(differing), rng.randint(1, max(1, len(differing) - 1)))
    chosen.sort(key=lambda literal: literal.start)
    names = " and ".join(dict.fromkeys(literal.name or "" for literal in chosen[:3]))
    return with_values(source, {literal: differing[literal] for literal in chosen}), names


def _blocks_taken(source: str, donor: str, rng: random.Random) -> tuple[str, str] | None:
    mine, theirs = evolve_regions(source), evolve_regions(donor)
    if len(mine) < 2 or len(mine) != len(theirs):
        return None
    differing = [index for index, (our, other) in enumerate(zip(mine, theirs, strict=True)) if our.text != other.text]
    if len(differing) < 2:  # with what differs nowhere else it would be the other program itself
        return None
    index = rng.choice(differing)
    lines = split_lines(source)
    lines[mine[index].start : mine[index].stop] = split_lines(theirs[index].text)
    return "".join(lines), f"block {index + 1}"
