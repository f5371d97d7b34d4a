"""The offline proposer: ingredients, crossover and moved constants, seeded, in the place of a model.

It needs nothing but the CPU and knows nothing of any task but the folder of ingredients that it is given. It is a
real search and the baseline without a model; nothing in it stores a program or an order of steps. What it writes is
a patch like any other, which is applied and judged like any other.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from evaluator.evaluation import OF_THE_MOMENT, Outcome
from evaluator.program_files import Files, ProgramFolder
from evolve.core.completion import Completion, Observer
from evolve.core.errors import PatchError, ProgramError
from evolve.core.program import OFFLINE, PatchKind
from evolve.lang.languages import PYTHON, Language, language_of
from evolve.patch import make_files_patch
from evolve.proposal import Request, ScoredProgram
from evolve.propose.offline.any_language import number_moved, parts_taken
from evolve.propose.offline.edits import (
    Edit,
    both,
    constant_moved,
    crossed,
    inserted,
    pruned,
    rebuilt,
    reordered,
    replaced,
)
from evolve.propose.offline.experience import Experience
from evolve.propose.offline.ingredients import load_library
from evolve.propose.offline.outline import Outline, outlined
from evolve.seams import Proposer

CHANGES = {"insert": 50, "replace": 15, "reorder": 5, "prune": 5, "move": 25}
"""How an edit is drawn of a program that works, by weight."""

OVER_A_LIMIT = OF_THE_MOMENT | {Outcome.OUTPUT_LIMIT}

REDRAWN = 8
"""So often an edit is drawn, if the parent has had each one before."""

SECOND_EDIT = 0.1
"""The chance that an edit is followed by another one in the same patch."""

SECOND_EDIT_AGAIN = 0.8
"""The same after a refusal: most are for a program that is known, and two edits are seldom known together."""

Maker = Callable[[], Edit | None]


class OfflineProposer(Proposer):
    """Proposes without a model. Every answer is a function of the request and the folder of ingredients.

    Ingredients, and crossover of definitions, are for programs of one file in Python; of others numbers are moved, and
    values of constants or whole evolve blocks carried over, in one file at a time.
    """

    name = OFFLINE

    def __init__(
        self,
        ingredients: Path | None,
        *,
        entry_point: str,
        language: Language = PYTHON,
        rules: ProgramFolder | None = None,
    ) -> None:
        """Read the ingredients of a folder (None: none); `rules` are there where programs have several files. Raises
        InputError for a file that is not an ingredient."""
        self._library = load_library(ingredients)
        self._entry_point = entry_point
        self._language, self._rules = language, rules
        kinds = {PatchKind.DIFF, PatchKind.CROSS}
        self.kinds = frozenset(kinds | {PatchKind.FIX} if language is PYTHON and rules is None else kinds)

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """A patch of the parent. Where the asked kind is not possible, another is written; where none is, the
        answer says so, and holds no patch."""
        try:
            parent = request.parent.program.files
            path, edit = self.edit_of_file(request)
            if edit is None:
                return Completion(text="", finish_reason="nothing")
            new = parent.changed({path: edit.source})
            text = make_files_patch(parent, new, self._rules, name=edit.name, description=edit.description)
        except (PatchError, ProgramError) as unwritable:
            # The answer is then refused like a model's, and recorded with this reason.
            text = f"The offline proposer has an edit that no patch can hold, or that is too large: {unwritable}"
        return Completion(text=text)

    def edit_of_file(self, request: Request) -> tuple[str, Edit | None]:
        """The edit behind an answer, None when there is nothing to propose, and the path of the file that it edits."""
        files = request.parent.program.files
        if self._rules is None:
            return next(iter(files)), self.propose(request)
        paths = list(files)
        _seeded(request).shuffle(paths)
        for path in paths:
            parent = _of_file(request.parent, path)
            assert parent is not None
            donors = tuple(donor for each in request.inspirations if (donor := _of_file(each, path)) is not None)
            of_file = replace(request, parent=parent, inspirations=donors)
            if (edit := self._of_any_language(of_file, language_of(path))) is not None:
                return path, replace(edit, description=f"{path}: {edit.description}")
        return paths[0], None

    def propose(self, request: Request) -> Edit | None:
        """The edit of a program of one file; None when there is nothing to propose."""
        source = request.parent.program.files.only
        if self._language is not PYTHON:
            return self._of_any_language(request, self._language)
        if source and not source.endswith("\n"):  # edits are made of whole lines
            edit = self._edit(request, source + "\n")  # only a program without markers can end like this
            return edit and replace(edit, source=edit.source.removesuffix("\n"))
        if source.count("\r\n") == source.count("\n") > 0:
            edit = self._edit(request, source.replace("\r\n", "\n"))
            return edit and replace(edit, source=edit.source.replace("\n", "\r\n"))
        return self._edit(request, source)

    def _of_any_language(self, request: Request, language: Language) -> Edit | None:
        rng, source = _seeded(request), request.parent.program.files.only
        edit = None
        if request.kind is PatchKind.CROSS:
            edit = parts_taken(source, language, request.inspirations, rng)
        edit = edit or number_moved(source, language, rng)
        if edit is None or rng.random() >= _chance_of_another(request):
            return edit
        more = number_moved(edit.source, language, rng)
        return edit if more is None or more.source == source else both(edit, more)

    def _edit(self, request: Request, source: str) -> Edit | None:
        rng, experience = _seeded(request), Experience(request)
        start = outlined(source, self._entry_point)
        edit = self._new(request, start, start, experience, rng)
        if edit is None or rng.random() >= _chance_of_another(request):
            return edit
        more = self._new(request, start, Outline(edit.source, self._entry_point), experience, rng)
        return edit if more is None or more.source == start.source else both(edit, more)

    def _new(
        self, request: Request, start: Outline, outline: Outline, experience: Experience, rng: random.Random
    ) -> Edit | None:
        """One edit of `outline`, which the parent (`start`) has not had, unless that is hard to find."""
        for _ in range(REDRAWN):
            edit = self._one(request, outline, experience, rng)
            if edit is None or not experience.had(start.source, edit.source):
                break
        return edit

    def _one(self, request: Request, outline: Outline, experience: Experience, rng: random.Random) -> Edit | None:
        """One edit of the asked kind, or else of another."""
        makers: dict[str, Maker] = {
            "insert": lambda: inserted(self._library, outline, experience, rng),
            "replace": lambda: replaced(self._library, outline, experience, rng),
            "reorder": lambda: reordered(self._library, outline, rng),
            "rebuild": lambda: rebuilt(self._library, outline, experience, rng),
            "prune": lambda: pruned(outline, rng),
            "move": lambda: constant_moved(outline, experience, rng),
            "lower": lambda: constant_moved(outline, experience, rng, verb="lower"),
            "cross": lambda: crossed(outline, request.inspirations, rng),
        }
        first = {PatchKind.CROSS: {"cross": 1}, PatchKind.FIX: _repairs(request)}
        for weights in (first.get(request.kind, CHANGES), CHANGES, {"move": 1}, {"cross": 1}):
            weighted = dict(weights)
            while weighted:
                name = rng.choices(list(weighted), weights=list(weighted.values()))[0]
                edit = makers[name]()
                if edit is not None and edit.source != outline.source:
                    return edit
                del weighted[name]
        return None


def _of_file(scored: ScoredProgram, path: str) -> ScoredProgram | None:
    """A program as if one of its files were all of it; None if it has no such file."""
    if (text := scored.program.files.get(path)) is None:
        return None
    return replace(scored, program=replace(scored.program, files=Files.single(path, text)))


def _repairs(request: Request) -> Mapping[str, float]:
    """What repairs a program that fails, by weight. While nothing is correct (there is no other), the program may
    lack a way to any answer at all, and gets one."""
    if not request.inspirations:
        return {"rebuild": 50, "insert": 40, "replace": 10}
    if request.parent.evaluation.outcome in OVER_A_LIMIT:
        return {"lower": 70, "prune": 15, "replace": 15}
    return {"replace": 40, "insert": 30, "move": 15, "prune": 15}


def _seeded(request: Request) -> random.Random:
    return random.Random(f"{request.seed}:{request.generation}:{request.attempt}")


def _chance_of_another(request: Request) -> float:
    return SECOND_EDIT if request.attempt == 0 else SECOND_EDIT_AGAIN
