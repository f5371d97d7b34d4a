"""What a page is drawn from: a run, and one generation of it, as JSON.

`run_document` is the whole run without texts, `changes` what is new of it since some event, `rest` what that leaves
out, `run_summary` its row in the table of runs, `generation_document` one generation with its code, prompts and
answers. Times are wall seconds, every number is finite or None, values are the task's own metric. docs/review.md
describes the keys.
"""

from collections.abc import Callable, Sequence
from typing import Any

from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord
from evolve.core.invocation import anywhere
from evolve.review.calls import attempt_json
from evolve.review.generation_view import PAGE_OF_PROGRAM, GenerationReader, GenerationView
from evolve.review.instances import OTHERS, InstanceRow, instance_rows, judge_of, pictures
from evolve.review.overview import asked_how
from evolve.review.run_facts import notes_json
from evolve.review.run_view import HEAD, PAGE, REST, SUMMARY, RunView, columns
from evolve.review.scores import finite


def run_document(
    name: str, archive: RunReader, views: Sequence[GenerationView] | None = None, *, fingerprint: bool = False
) -> dict[str, Any]:
    """A whole run. `views`: those of all its generations in order, where they are at hand. `fingerprint`: with that of
    the archive, for which all of it is read again."""
    run = RunView(name=name, archive=archive, views=views)
    found = run.to_json(PAGE)
    found["fingerprint"] = archive.fingerprint() if fingerprint else None
    found["gens"] = columns(run.generations)
    found["replay"] = anywhere("replay", name, "best")
    return found


def rest(archive: RunReader, views: Sequence[GenerationView]) -> dict[str, Any]:
    """What `changes` leaves out of a run document: what is made of the whole run, `views` being those of all its
    generations in order. Without those it takes little, however long the run is."""
    return RunView(name="", archive=archive, views=views).to_json(REST)


def changes(archive: RunReader, since: int) -> dict[str, Any]:
    """What has changed of a run document after its first `since` events (its `events` says how many it was made of):
    the columns of the generations that an event was about, and every small key. All else is `rest`.

    It takes as long as there are such generations, however many others the run has.
    """
    touched = GenerationReader(archive).views(archive.timeline.touched(since))
    head = RunView(name="", archive=archive).to_json(HEAD)
    return {"since": since} | head | {"gens": columns(touched)}


def run_summary(name: str, archive: RunReader) -> dict[str, Any]:
    """The row, of live pages and of reports alike. `best`, `gap` (to `target`) and `held_out` are values of the task's
    own metric; `programs` counts programs as `evolve list` does, `generations` what has ended; `curve` holds the best
    value after up to 100 of those, in order."""
    return RunView(name=name, archive=archive).to_json(SUMMARY)


def generation_document(
    archive: RunReader, generation: int, text: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """One generation with its texts. `parent` is the generation whose code it was made from. `text` reads a prompt
    or an answer by its object id, where that is not the archive itself. Raises KeyError for one that was not begun."""
    view = GenerationReader(archive).view(generation)
    program, read = view.program, text or archive.text
    document: dict[str, Any] = {
        "n": generation,
        "status": view.status.value,
        "asked": asked_how(view),
        "attempts": [attempt_json(asked) | _texts(read, asked[0]) for asked in view.calls],
        "notes": notes_json(archive, generation),
    }
    if program is None:
        parent = archive.find(view.questions[-1].parent).generation
        return document | {"code": None, "patch": None, "parent": parent, "children": [], "results": []}
    judge = judge_of(archive)
    rows = instance_rows(archive, program, None if judge is None else judge[1])
    drawn, undrawn = pictures(archive, program)
    own = {
        "code": archive.source(program),
        "patch": archive.patch_text(program) if program.parents else None,
        "parent": None if view.parent is None else view.parent.generation,
        "children": list(archive.made_of.get(program.commit, ())),
        "metrics": {name: finite(value) for name, value in program.metrics.items()},
        "results": list(map(_result, rows)),
        "pictures": drawn,
        "pictures_problem": undrawn,
    }
    return document | own | view.to_json(PAGE_OF_PROGRAM)


def _texts(read: Callable[[str], str], attempt: AttemptRecord) -> dict[str, str | None]:
    texts = {"prompt": attempt.prompt, "answer": attempt.answer, "reasoning": attempt.reasoning}
    return {name: None if blob is None else read(blob) for name, blob in texts.items()}


def _result(row: InstanceRow) -> list[Any]:
    """[instance, outcome, cost, bound, gap, against the parent, against the best]."""
    cost, bound, gap = finite(row.result.cost), finite(row.bound), finite(row.gap)
    against = [row.against.get(name) for name in OTHERS]
    return [row.result.instance, row.result.outcome.value, cost, bound, gap, *against]
