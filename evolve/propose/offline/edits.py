"""Edits, and those of Python programs that the offline proposer draws from. Each is pure; None: not possible."""

import random
from dataclasses import dataclass, replace

from evolve.proposal import ScoredProgram
from evolve.propose.offline.constants import moved, propose_move
from evolve.propose.offline.crossover import carry, differing
from evolve.propose.offline.experience import Experience
from evolve.propose.offline.ingredients import Ingredient, Library, applicable, drawn, insert
from evolve.propose.offline.outline import Outline, outlined
from evolve.propose.offline.wiring import Use, result_functions, swept, uses, without_start, without_use


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A new source, with a name for the change (words joined by underscores) and the reason for it."""

    source: str
    name: str
    description: str


def both(edit: Edit, more: Edit) -> Edit:
    """Two edits as one, the second of which was made of the first one's source."""
    return Edit(
        source=more.source,
        name=f"{edit.name}_and_{more.name}",
        description=f"{edit.description}; {more.description}",
    )


def inserted(library: Library, outline: Outline, experience: Experience, rng: random.Random) -> Edit | None:
    """Put an ingredient in."""
    fitting = [item for item in library.operators if applicable(library, outline, item)]
    if not fitting:
        return None
    chosen = drawn(fitting, experience.of, rng)
    done = insert(library, outline, chosen, rng, weigh=experience.of)
    if done is None:
        return None
    source, items = done
    verb = "wire" if chosen.main in outline.bound else "add"
    return described(verb, source, items)


def replaced(library: Library, outline: Outline, experience: Experience, rng: random.Random) -> Edit | None:
    """Put an ingredient in the place of another one of its role."""
    swaps = [
        (use, old, item)
        for use in uses(outline)
        if (old := library.of(use.name)) is not None
        for item in library.operators
        if item.role == old.role and item.slot == use.slot and item.main != use.name
        if applicable(library, outline, item)
    ]
    if not swaps:
        return None
    use, old, chosen = rng.choices(swaps, weights=[experience.of(item) for _, _, item in swaps])[0]
    position = result_functions(outline).index(use.name) if use.slot is None else None
    without = Outline(without_use(outline, use), outline.entry_point)
    done = insert(library, without, chosen, rng, position, experience.of)
    if done is None:
        return None
    source, items = done
    edit = described("use", swept(outline, source), items)
    return replace(
        edit, name=f"replace_{old.name}_by_{chosen.name}", description=f"replace {old.name}: {edit.description}"
    )


def reordered(library: Library, outline: Outline, rng: random.Random) -> Edit | None:
    """Apply an ingredient to the result earlier or later than now."""
    functions = result_functions(outline)
    moving = [name for name in functions if library.of(name) is not None]
    if len(functions) < 2 or not moving:
        return None
    name = rng.choice(moving)
    ingredient = library.of(name)
    assert ingredient is not None
    position = rng.choice([i for i in range(len(functions)) if i != functions.index(name)])
    without = Outline(without_use(outline, Use(name=name, slot=None)), outline.entry_point)
    done = insert(library, without, ingredient, rng, position)
    if done is None:
        return None
    where = "earlier" if position < functions.index(name) else "later"
    return Edit(
        source=done[0],
        name=f"apply_{name}_{where}",
        description=f"apply {name} as step {position + 1} of {len(functions)} instead of step "
        f"{functions.index(name) + 1}: what a step starts from decides what it finds",
    )


def rebuilt(library: Library, outline: Outline, experience: Experience, rng: random.Random) -> Edit | None:
    """Let a constructor make the result in the place of what the entry function does itself."""
    source = without_start(outline)
    if source is None:
        return None
    bare = Outline(source, outline.entry_point)
    fitting = [item for item in library.operators if item.constructs and applicable(library, bare, item)]
    if not fitting:
        return None
    chosen = drawn(fitting, experience.of, rng)
    done = insert(library, bare, chosen, rng, 0, experience.of)
    if done is None:
        return None
    edit = described("begin with", swept(outline, done[0]), done[1])
    return replace(edit, name=f"begin_with_{chosen.name}")


def described(verb: str, source: str, items: list[Ingredient]) -> Edit:
    """An edit that puts ingredients in, the one that was meant first."""
    names = [item.name for item in items]
    reasons = "; ".join(f"{verb} {item.role} {item.name}: {item.why}" for item in items)
    return Edit(source=source, name=f"{verb}_{'_with_'.join(names)}", description=reasons)


def pruned(outline: Outline, rng: random.Random) -> Edit | None:
    """Take one used operator out, and what then serves nothing."""
    all_uses = uses(outline)
    if not all_uses:
        return None
    use = rng.choice(all_uses)
    source = swept(outline, without_use(outline, use))
    where = "the result" if use.slot is None else use.slot
    return Edit(
        source=source,
        name=f"remove_{use.name}",
        description=f"remove {use.name} from {where}, to see whether it earns its place",
    )


def constant_moved(outline: Outline, experience: Experience, rng: random.Random, verb: str = "") -> Edit | None:
    """Move one numeric constant; `verb` (raise, lower) says in which direction."""
    move = propose_move(outline, rng, lambda move: experience.weight(f"{move.verb} {move.constant.label}"), verb)
    if move is None:
        return None
    constant = move.constant
    subject = constant.label if constant.named else "number"
    return Edit(
        source=moved(outline.source, move),
        name=f"{move.verb}_{subject.lower()}",
        description=f"{move.verb} {constant.label} from {constant.value!r} to {move.value!r}",
    )


def crossed(outline: Outline, inspirations: tuple[ScoredProgram, ...], rng: random.Random) -> Edit | None:
    """Carry one definition over from another program."""
    donors = list(inspirations)
    rng.shuffle(donors)
    for candidate in donors:
        donor = outlined(candidate.program.files.only, outline.entry_point)
        names = differing(outline, donor)
        rng.shuffle(names)
        for name in names:
            source = carry(outline, donor, name, rng)
            if source is None or source == outline.source:
                continue
            reason = "which this program has otherwise" if name in outline.bound else "which this program lacks"
            score = candidate.evaluation.value or candidate.evaluation.combined_score
            return Edit(
                source=source,
                name=f"take_{name.lower()}",
                description=f"take {name} from generation {candidate.program.generation} (score {score:.4f}), {reason}",
            )
    return None
