"""What a page is drawn from: a run, and one generation of it, as JSON.

`run_document` is the whole run without texts, `changes` what is new of it since some event, `rest` what that leaves
out, `generation_document` one generation with its code, prompts and answers. Times are wall seconds, every number is
finite or None, values are the task's own metric. The keys are told in docs/review.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord
from evolve.evidence.yields import model_yields
from evolve.invocation import anywhere
from evolve.review.baselines import lines
from evolve.review.calls import attempt_json
from evolve.review.catalogue import against_best, how_it_stands
from evolve.review.curves import sampled
from evolve.review.funnel import failures, funnel, yields
from evolve.review.generation_view import PAGE, PAGE_OF_PROGRAM, GenerationReader, GenerationView
from evolve.review.generations import all_generations
from evolve.review.instances import OTHERS, InstanceRow, instance_rows, judge_of, matrix, pictures
from evolve.review.meta_documents import standing, timeline
from evolve.review.overview import asked_how
from evolve.review.run_facts import calls_json, config_json, notes_json, sessions_json
from evolve.review.scores import finite, target_of
from evolve.review.uplift import proposals, uplift
from evolve.review.verdict import strict_text


def run_document(
    name: str, archive: RunReader, views: Sequence[GenerationView] | None = None, *, fingerprint: bool = False
) -> dict[str, Any]:
    """A whole run. `views`: those of all its generations in order, where they are at hand. `fingerprint`: with that of
    the archive, for which all of it is read again."""
    known = all_generations(archive) if views is None else views
    return {
        "name": name,
        "task": archive.identity["task"],
        "suite": archive.identity["suite"],
        "seed": archive.identity.get("seed"),
        "run_id": archive.run_id,
        "fingerprint": archive.fingerprint() if fingerprint else None,
        "began": archive.began,
        **_head(archive),
        "gens": _columns(known),
        **rest(archive, known),
        "replay": anywhere("replay", name, "best"),
    }


def rest(archive: RunReader, views: Sequence[GenerationView]) -> dict[str, Any]:
    """What `changes` leaves out of a run document: what is made of the whole run, `views` being those of all its
    generations in order. Without those it takes little, however long the run is."""
    helped, models = uplift(proposals(views)), model_yields(archive)
    return {
        "lines": lines(archive),
        "instances": matrix(archive),
        "funnel": funnel(views),
        "failures": failures(views),
        "yields": yields(views, models),
        "models": [one.to_json() for one in models],
        "meta": timeline(archive, {view.generation: (view.mark, view.value_change) for view in views}),
        "learning": standing(archive),
        "uplift": None if helped is None else helped.to_json(),
        "calls": calls_json(archive),
        "config": config_json(archive),
    }


def changes(archive: RunReader, since: int) -> dict[str, Any]:
    """What has changed of a run document after its first `since` events (its `events` says how many it was made of):
    the columns of the generations that an event was about, and every small key. All else is `rest`.

    It takes as long as there are such generations, however many others the run has.
    """
    views = GenerationReader(archive).views(archive.chronicle.touched(since))
    return {"since": since, **_head(archive), "gens": _columns(views)}


def _columns(views: Sequence[GenerationView]) -> dict[str, list[Any]]:
    """A list for each key of PAGE, one entry for each generation."""
    rows = [view.to_json(PAGE) for view in views]
    return {key: [row[key] for row in rows] for key in PAGE}


def _head(archive: RunReader) -> dict[str, Any]:
    """The small keys of a run: what may change with every event."""
    best, spent, kept = archive.best, archive.spent, archive.under_way
    running = archive.finished is None and archive.running
    stands = how_it_stands(archive.finished, running=running)
    return {
        "events": archive.chronicle.events,
        "state": {"text": stands, "finished": archive.finished, "running": running},
        "newest": archive.newest,
        "self_judged": best is not None and best.self_judged,
        "spent": {
            "tokens": spent.tokens,
            "cost_usd": spent.cost_usd,
            "known_usd": spent.known_usd,
            "calls": spent.calls,
            "tokens_cached": spent.tokens_cached,
            "unanswered": spent.unanswered,
            "unanswered_usd": spent.unanswered_usd,
            "under_way": {"calls": kept.calls, "tokens": kept.tokens, "cost_usd": kept.cost_usd},
            "seconds": archive.chronicle.seconds(),
        },
        **_aims(archive),
        "believed": _believed(archive),
        "best": None if best is None else best.generation,
        "best_value": None if best is None else best.value,
        "path": _path(archive),
        "sessions": sessions_json(archive),
        "notes": notes_json(archive),
    }


def _aims(archive: RunReader) -> dict[str, Any]:
    """The metric and what it is held against: as the best program has it, or the newest while none is correct."""
    best = archive.best
    shown = best or next(iter(archive.programs[-1:]), None)
    if shown is None:
        return dict.fromkeys(("objective", "bound", "best_known", "target", "gap"))
    judge, known, target = judge_of(archive), shown.best_known, target_of(shown)
    proven = None if judge is None else all(instance.proven for instance in judge[1].instances)
    beaten = {"beaten": bool(best and best.beyond)}
    return {
        "objective": shown.objective.to_json(),
        "bound": None if shown.value_bound is None else {"value": shown.value_bound, "proven": proven},
        "best_known": None if known is None else {"value": known.value, "where_from": known.where_from, **beaten},
        "target": None if target is None else asdict(target),
        "gap": None if best is None or target is None else best.objective.gap(best.value, target.value),
    }


def _believed(archive: RunReader) -> dict[str, Any]:
    """What is known for and against the best program."""
    best = archive.best
    head = {"quarantined": archive.quarantined, "evaluator_version": archive.identity.get("evaluator_version")}
    if best is None:
        empty = dict.fromkeys(("strict", "overfitted", "held_out", "fresh"))
        return {**head, **empty, "warnings": [], "sandbox": archive.identity.get("sandbox"), "holds": True}
    view, held = GenerationReader(archive).view(best.generation), archive.held_out_of_best
    evaluation = view.evaluation
    return {
        **head,
        "strict": strict_text(evaluation.strict),
        "sandbox": evaluation.sandbox,
        "overfitted": view.why_overfitted,
        "warnings": against_best(archive),
        "held_out": held and {"gap": held.value_gap, "value": held.value, "correct": held.correct, "suite": held.suite},
        "fresh": view.fresh,
        "holds": archive.best_holds,
    }


def _path(archive: RunReader) -> list[int]:
    """The first-parent way to the best, oldest first."""
    way: list[int] = []
    program = archive.best
    while program is not None:
        way.append(program.generation)
        program = archive.find(program.parents[0]) if program.parents else None
    return way[::-1]


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
        "children": list(archive.offspring(program.commit)),
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
    against = [row.against[name].value if name in row.against else None for name in OTHERS]
    return [row.result.instance, row.result.outcome.value, cost, bound, gap, *against]


_POINTS: Final = 100
"""So many values stand for the curve of a run."""
_OF_HEAD: Final = ("state", "newest", "self_judged", "objective", "spent", "bound", "best_known", "target", "gap")


def run_summary(name: str, archive: RunReader) -> dict[str, Any]:
    """The row, of live pages and of reports alike. `best`, `gap` (to `target`) and `held_out` are values of the task's
    own metric; `programs` counts programs as `evolve list` does, `generations` what has ended; `curve` holds the best
    value after up to 100 of those, in order."""
    head = _head(archive)
    twin = head["believed"]["held_out"]
    return {
        "name": name,
        "task": archive.identity["task"],
        "suite": archive.identity["suite"],
        "seed": archive.identity.get("seed"),
        "began": archive.began,
        **{key: head[key] for key in _OF_HEAD},
        "believed": head["believed"],
        "best": head["best_value"],
        "held_out": None if twin is None else twin["value"],
        "programs": len(archive.programs),
        "generations": archive.ended,
        "correct": sum(record.correct for record in archive.programs),
        "quarantined": head["believed"]["quarantined"],
        "curve": [value for value in sampled(archive, _POINTS) if value is not None],
    }
