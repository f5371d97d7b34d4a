"""The JSON of the pages: a run, and one generation of it.

`run_document` is the whole run without texts, `changes` its changes since an event, `rest` the keys that `changes`
leaves out, `run_summary` its row in the table of runs, `generation_document` one generation with its code, prompts and
answers. Times are wall seconds, every number is finite or None, values are in the task's own metric. docs/pages.md
describes the keys.
"""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.program_files import SEVERAL
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, ProgramRecord
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
    """A whole run. `views`: those of all its generations in order, if the caller has them. `fingerprint`: with the
    archive's fingerprint, which reads the whole archive again."""
    run = RunView(name=name, archive=archive, views=views)
    document = run.to_json(PAGE)
    document["fingerprint"] = archive.fingerprint() if fingerprint else None
    document["gens"] = columns(run.generations)
    document["replay"] = anywhere("replay", name, "best")
    return document


def rest(archive: RunReader, views: Sequence[GenerationView]) -> dict[str, Any]:
    """The keys of a run document that `changes` leaves out: those that need the whole run. `views`: those of all its
    generations in order."""
    return RunView(name="", archive=archive, views=views).to_json(REST)


def changes(archive: RunReader, since: int) -> dict[str, Any]:
    """The changes of a run document after its first `since` events (`events` in the document): the columns of the
    generations with events, and every small key. All else is `rest`.

    Its time depends on the number of these generations, not on the length of the run.
    """
    touched = GenerationReader(archive).views(archive.timeline.touched(since))
    head = RunView(name="", archive=archive).to_json(HEAD)
    return {"since": since} | head | {"gens": columns(touched)}


def run_summary(name: str, archive: RunReader) -> dict[str, Any]:
    """The row of a run in the table of runs. `best`, `gap` (to `target`) and `held_out` are in the task's own metric;
    `programs` counts programs as `evolve list` does, `generations` those that have ended; `curve` has the best value
    after up to 100 of these, in order."""
    return RunView(name=name, archive=archive).to_json(SUMMARY)


def generation_document(
    archive: RunReader, generation: int, text: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """One generation with its texts. `parent` is the generation of its parent program. `text` reads a prompt or an
    answer by its object id, by default from the archive. Raises KeyError if the generation was not begun."""
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
        "patch": archive.patch_text(program) if program.parents else None,
        "parent": None if view.parent is None else view.parent.generation,
        "children": list(archive.made_of.get(program.commit, ())),
        "metrics": {name: finite(value) for name, value in program.metrics.items()},
        "results": list(map(_result, rows)),
        "pictures": drawn,
        "pictures_problem": undrawn,
    }
    return document | own | _program_texts(archive, program) | view.to_json(PAGE_OF_PROGRAM)


def _program_texts(archive: RunReader, program: ProgramRecord) -> dict[str, Any]:
    """`code`, the text of a program of one file, else empty; `files`, the texts by path where programs have several."""
    files = archive.files(program)
    if archive.program_file != SEVERAL:
        return {"code": files.only}
    return {"code": "", "files": files.to_json()}


def _texts(read: Callable[[str], str], attempt: AttemptRecord) -> dict[str, str | None]:
    texts = {"prompt": attempt.prompt, "answer": attempt.answer, "reasoning": attempt.reasoning}
    return {name: None if blob is None else read(blob) for name, blob in texts.items()}


def _result(row: InstanceRow) -> list[Any]:
    """[instance, outcome, cost, bound, gap, against the parent, against the best]."""
    cost, bound, gap = finite(row.result.cost), finite(row.bound), finite(row.gap)
    against = [row.against.get(name) for name in OTHERS]
    return [row.result.instance, row.result.outcome.value, cost, bound, gap, *against]
