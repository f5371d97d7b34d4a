"""The commits that keep prompts and answers where git's own commands find them: `refs/evolve/attempts`.

Events of the journal name each text itself, so no reader needs these commits; a clone does, to copy the texts. They
follow from the journal alone. Every BLOCK texts are one commit on top of those before. What is left is one more, which
a later one replaces.
"""

from collections.abc import Sequence
from typing import Final

from evolve.archive import refs
from evolve.archive.objects import Objects, commit_object, name_of, tree_object

BLOCK: Final = 256
"""Texts in a commit. A commit for each text made two of three objects of an answer."""


class TextCommits:
    """The commits of one run's texts. `newest`: the one that the ref names when the run is opened."""

    def __init__(self, objects: Objects, newest: str | None) -> None:
        self._objects = objects
        self._blocks: list[str] = []  # commits of whole blocks
        self._newest = newest

    def refs(self) -> dict[str, str]:
        """The ref of the newest commit, if there is any."""
        return {} if self._newest is None else {refs.ATTEMPTS: self._newest}

    def follow(self, texts: Sequence[tuple[str, str]]) -> None:
        """Write the commits of all texts (name and blob, as they were recorded) that have none. Raises MachineError."""
        made: list[tuple[bytes, bytes]] = []
        blocks = list(self._blocks)
        for start in range(len(blocks) * BLOCK, len(texts), BLOCK):
            named = {f"{start + i:06}-{name}": blob for i, (name, blob) in enumerate(texts[start : start + BLOCK])}
            tree = b"tree", tree_object(named)
            message = f"texts {start} to {start + len(named) - 1}\n"
            commit = b"commit", commit_object(name_of(*tree), blocks[-1:], generation=0, message=message)
            made += [tree, commit]
            blocks.append(name_of(*commit))
        newest = blocks[-1] if blocks else None
        if newest != self._newest:
            for kind, content in made:
                self._objects.store(kind, content)
            self._objects.sync()
        self._newest = newest
        self._blocks = blocks[: len(texts) // BLOCK]
