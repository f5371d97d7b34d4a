"""How a session begins: it takes up what the archive holds."""

from evolve.archive.records import Unfinished
from evolve.completion import patch_key
from evolve.judging.evaluators import complete_held_out
from evolve.run.generation import RunContext


def restore(run: RunContext) -> list[Unfinished]:
    """Take up what the archive holds, and complete what a kill has cut off. The generations without an end, lowest
    first."""
    archive = run.archive
    complete_held_out(archive, run.evaluators)
    run.search.restore(archive.history())
    run.summaries.restore()
    for orphan in archive.orphans():
        if archive.calls(patch_key(orphan.generation, orphan.attempt)):  # else it was never sent
            archive.lost(orphan.generation, orphan.attempt)
    return archive.unfinished()
