"""From a model's answer to a new program, or to the precise reason why it is none. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from evolve.completion import Completion
from evolve.errors import PatchError
from evolve.language import Language
from evolve.patch import Patch, apply_patch, parse_patch
from evolve.patch.features import features
from evolve.program import PatchKind, normalised_hash
from evolve.propose.llm_proposer import problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProgram:
    """A program that nobody has evaluated yet."""

    patch: Patch
    source: str
    source_hash: str
    features: tuple[str, ...]


class Duplicate(PatchError):
    """Raised when a patch gives a program that this run already knows. `generation` is the known one's."""

    def __init__(self, generation: int) -> None:
        super().__init__(
            "duplicate",
            f"The patched program is the same as that of generation {generation}, comments and layout aside. "
            "Propose a change that has not been tried.",
        )
        self.generation = generation


def build_program(
    answer: Completion,
    *,
    kind: PatchKind,
    parent_source: str,
    language: Language,
    known: Callable[[str], int | None],
) -> NewProgram:
    """The program that `answer` makes of its parent: parsed and applied, whole or not at all.

    `known` maps the hash of a normalised program to the generation that has it already, or None.
    Raises PatchError (with a message for the model), and Duplicate for a program that is known.
    """
    problem = problem_of(answer)
    if problem is not None:
        raise PatchError(*problem)
    patch = parse_patch(answer.text, kind)
    source = apply_patch(patch, parent_source, language)
    source_hash = normalised_hash(source, language)
    generation = known(source_hash)
    if generation is not None:
        raise Duplicate(generation)
    changed = features(parent_source, source, language)
    return NewProgram(patch=patch, source=source, source_hash=source_hash, features=changed)
