"""The offline proposer: ingredients, crossover and moved constants, seeded, in the place of a model.

It needs nothing but the CPU and knows nothing of any task but the folder of ingredients that it is given. It is a
real search and the baseline without a model; nothing in it stores a program or an order of steps. What it writes is
a patch like any other, which is applied and judged like any other.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from evolve.completion import Completion, Observer
from evolve.errors import PatchError, ProgramError
from evolve.language import PYTHON, Language
from evolve.offline.any_language import number_moved, parts_taken
from evolve.offline.constants import moved, propose_move
from evolve.offline.crossover import carry, differing
from evolve.offline.edit import Edit
from evolve.offline.ingredients import Ingredient, applicable, insert, load_library
from evolve.offline.outline import Outline, outlined
from evolve.offline.wiring import Use, result_functions, swept, uses, without_use
from evolve.patch import make_patch
from evolve.program import PatchKind
from evolve.proposal import Request, ScoredProgram

SECOND_EDIT = 0.1
"""The chance that an edit is followed by another one in the same patch."""

SECOND_EDIT_AGAIN = 0.8
"""The same after a refusal: most are for a program that is known, and two edits are seldom known together."""


Maker = Callable[[Outline, random.Random], Edit | None]


class OfflineProposer:
    """Proposes without a model. Every answer is a function of the request and the folder of ingredients.

    Ingredients, and crossover of definitions, are for Python; of programs in another language numbers are moved, and
    values of constants or whole evolve blocks carried over.
    """

    name = "offline"
    kinds = frozenset({PatchKind.DIFF, PatchKind.CROSS, PatchKind.TUNE})

    def __init__(self, ingredients: Path | None, *, entry_point: str, language: Language = PYTHON) -> None:
        """Read the ingredients of a folder (None: none). Raises InputError for a file that is not an ingredient."""
        self._library = load_library(ingredients)
        self._entry_point = entry_point
        self._language = language

    def prompt(self, request: Request) -> str | None:
        """None: no text is sent to anybody."""
        return None

    def estimate_usd(self, prompt: str | None) -> float:
        """Nothing."""
        return 0.0

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """A patch of the parent. Where the asked kind is not possible, another is written; where none is, the
        answer says so, and holds no patch."""
        try:
            edit = self.propose(request)
            if edit is None:
                return Completion(text="", finish_reason="nothing")
            text = make_patch(request.parent.program.source, edit.source, name=edit.name, description=edit.description)
        except (PatchError, ProgramError) as unwritable:
            # The answer is then refused like a model's, and recorded with this reason.
            text = f"The offline proposer has an edit that no patch can hold, or that is too large: {unwritable}"
        return Completion(text=text)

    def propose(self, request: Request) -> Edit | None:
        """The edit behind an answer; None when there is nothing to propose."""
        source = request.parent.program.source
        if self._language is not PYTHON:
            return self._of_any_language(request)
        if source and not source.endswith("\n"):  # edits are made of whole lines
            edit = self._edit(request, source + "\n")  # only a program without markers can end like this
            return edit and replace(edit, source=edit.source.removesuffix("\n"))
        if source.count("\r\n") == source.count("\n") > 0:
            edit = self._edit(request, source.replace("\r\n", "\n"))
            return edit and replace(edit, source=edit.source.replace("\n", "\r\n"))
        return self._edit(request, source)

    def _of_any_language(self, request: Request) -> Edit | None:
        rng, source = _seeded(request), request.parent.program.source
        edit = None
        if request.kind is PatchKind.CROSS:
            edit = parts_taken(source, self._language, request.inspirations, rng)
        edit = edit or number_moved(source, self._language, rng)
        if edit is None or rng.random() >= _chance_of_another(request):
            return edit
        more = number_moved(edit.source, self._language, rng)
        return edit if more is None or more.source == source else _both(edit, more)

    def _edit(self, request: Request, source: str) -> Edit | None:
        rng = _seeded(request)
        start = outlined(source, self._entry_point)
        edit = self._one(request, start, rng)
        if edit is None or rng.random() >= _chance_of_another(request):
            return edit
        more = self._one(request, Outline(edit.source, self._entry_point), rng)
        if more is None or more.source == start.source:
            return edit
        return _both(edit, more)

    def _one(self, request: Request, outline: Outline, rng: random.Random) -> Edit | None:
        """One edit of the asked kind, or else of another."""

        def cross(outline: Outline, rng: random.Random) -> Edit | None:
            return crossed(outline, request.inspirations, rng)

        def change(outline: Outline, rng: random.Random) -> Edit | None:
            return self._ingredient_or_constant(outline, rng)

        first: dict[PatchKind, Maker] = {PatchKind.CROSS: cross, PatchKind.TUNE: constant_moved}
        for make in (first.get(request.kind, change), change, constant_moved, cross):
            edit = make(outline, rng)
            if edit is not None and edit.source != outline.source:
                return edit
        return None

    def _ingredient_or_constant(self, outline: Outline, rng: random.Random) -> Edit | None:
        weighted: dict[Maker, float] = {
            self._inserted: 50,
            self._replaced: 15,
            self._reordered: 5,
            pruned: 5,
            constant_moved: 25,
        }
        while weighted:
            make = rng.choices(list(weighted), weights=list(weighted.values()))[0]
            edit = make(outline, rng)
            if edit is not None and edit.source != outline.source:
                return edit
            del weighted[make]
        return None

    def _inserted(self, outline: Outline, rng: random.Random) -> Edit | None:
        fitting = [item for item in self._library.operators if applicable(self._library, outline, item)]
        if not fitting:
            return None
        chosen = rng.choice(fitting)
        done = insert(self._library, outline, chosen, rng)
        if done is None:
            return None
        source, items = done
        verb = "wire" if chosen.main in outline.bound else "add"
        return _described(verb, source, items)

    def _replaced(self, outline: Outline, rng: random.Random) -> Edit | None:
        swaps = [
            (use, old, item)
            for use in uses(outline)
            if (old := self._library.of(use.name)) is not None
            for item in self._library.operators
            if item.role == old.role and item.slot == use.slot and item.main != use.name
            if applicable(self._library, outline, item)
        ]
        if not swaps:
            return None
        use, old, chosen = rng.choice(swaps)
        position = result_functions(outline).index(use.name) if use.slot is None else None
        without = Outline(without_use(outline, use), self._entry_point)
        done = insert(self._library, without, chosen, rng, position)
        if done is None:
            return None
        source, items = done
        edit = _described("use", swept(outline, source), items)
        return Edit(
            source=edit.source,
            name=f"replace_{old.name}_by_{chosen.name}",
            description=f"replace {old.name}: {edit.description}",
        )

    def _reordered(self, outline: Outline, rng: random.Random) -> Edit | None:
        functions = result_functions(outline)
        moving = [name for name in functions if self._library.of(name) is not None]
        if len(functions) < 2 or not moving:
            return None
        name = rng.choice(moving)
        ingredient = self._library.of(name)
        assert ingredient is not None
        others = [i for i in range(len(functions)) if i != functions.index(name)]
        position = rng.choice(others)
        without = Outline(without_use(outline, Use(name=name, slot=None)), self._entry_point)
        done = insert(self._library, without, ingredient, rng, position)
        if done is None:
            return None
        where = "earlier" if position < functions.index(name) else "later"
        return Edit(
            source=done[0],
            name=f"apply_{name}_{where}",
            description=f"apply {name} as step {position + 1} of {len(functions)} instead of step "
            f"{functions.index(name) + 1}: what a step starts from decides what it finds",
        )


def _seeded(request: Request) -> random.Random:
    return random.Random(f"{request.seed}:{request.generation}:{request.attempt}")


def _chance_of_another(request: Request) -> float:
    return SECOND_EDIT if request.attempt == 0 else SECOND_EDIT_AGAIN


def _both(edit: Edit, more: Edit) -> Edit:
    """Two edits as one, the second of which was made of the first one's source."""
    return Edit(
        source=more.source,
        name=f"{edit.name}_and_{more.name}",
        description=f"{edit.description}; {more.description}",
    )


def _described(verb: str, source: str, items: list[Ingredient]) -> Edit:
    names = [item.name for item in items]
    reasons = "; ".join(f"{verb} {item.role} {item.name}: {item.why}" for item in items)
    return Edit(source=source, name=f"{verb}_{'_with_'.join(names)}", description=reasons)


def pruned(outline: Outline, rng: random.Random) -> Edit | None:
    """Take one used operator out, and what then serves nothing."""
    found = uses(outline)
    if not found:
        return None
    use = rng.choice(found)
    source = swept(outline, without_use(outline, use))
    where = "the result" if use.slot is None else use.slot
    return Edit(
        source=source,
        name=f"remove_{use.name}",
        description=f"remove {use.name} from {where}, to see whether it earns its place",
    )


def constant_moved(outline: Outline, rng: random.Random) -> Edit | None:
    """Move one numeric constant."""
    move = propose_move(outline, rng)
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
        donor = outlined(candidate.program.source, outline.entry_point)
        names = differing(outline, donor)
        rng.shuffle(names)
        for name in names:
            carried = carry(outline, donor, name, rng)
            if carried is None or carried.source == outline.source:
                continue
            reason = "which this program has otherwise" if carried.replaced else "which this program lacks"
            score = candidate.evaluation.value or candidate.evaluation.combined_score
            return Edit(
                source=carried.source,
                name=f"take_{name.lower()}",
                description=f"take {name} from generation {candidate.program.generation} (score {score:.4f}), {reason}",
            )
    return None
