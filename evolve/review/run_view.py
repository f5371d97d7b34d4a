"""The facts of one run that lists, pages and comparisons show.

As in `evolve.review.generation_view`, a fact is computed when a shape names it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from evaluator.untrusted import block
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, ProgramRecord
from evolve.insights.yields import ModelYield, model_yields
from evolve.review.audits import audit_json
from evolve.review.curves import lines, sampled
from evolve.review.doubts import against_best, held_out_change
from evolve.review.generation_view import COLUMNS, STAGES, GenerationReader, GenerationView, Shape, shape_of
from evolve.review.generations import all_generations
from evolve.review.insights_reports import missing_reports, timeline
from evolve.review.instances import judge_of, matrix
from evolve.review.overview import chain
from evolve.review.run_end import standstill, tuned_alone
from evolve.review.run_facts import (
    adaptations,
    all_calls,
    calls_by_kind,
    calls_json,
    config_json,
    how_it_stands,
    notes_json,
    sessions_json,
    troubles_json,
)
from evolve.review.scores import bound_word, orders_text, remeasured_text, score_json
from evolve.review.uplift import uplift_of
from evolve.review.verdict import strict_text
from evolve.review.workers import workers_json

_STANDS: Final = "finished running"
_SPENT: Final = """model_calls tokens cost_usd tokens_cached unanswered_calls unanswered_usd calls_under_way
    tokens_under_way usd_under_way"""
_AIMS: Final = "objective bound best_known target gap=gap_to_target"

LISTED_RUN: Final = shape_of(
    f"""run task suite programs best=best_score metric direction value spread value_bound value_gap ceiling gap
    self_judged overfitted fresh {_STANDS} curve t t_last {_SPENT}"""
)
"""A run in `list --json`."""
OPENED_RUN: Final = shape_of(f"run task suite fingerprint repeatable overfitted fresh {_STANDS} t t_last {_SPENT}")
"""The keys of `list RUN --json` about the run itself."""
OF_ALL: Final = shape_of("uplift adapted models calls_by_kind since_best tuning_baseline")
"""The keys of `list RUN --json` after the programs and generations."""
HEAD: Final = shape_of(
    f"""events state newest=t_last self_judged spent troubles workers {_AIMS} believed best=best_generation best_value
    path sessions notes"""
)
"""The small keys of a page, which may change with every event."""
REST: Final = shape_of(
    """lines instances funnel failures yields models meta learning uplift calls config since_best tuning_baseline
    audit"""
)
"""The keys of a page that need the whole run."""
PAGE: Final = shape_of("name=run task suite seed run_id began=t") | HEAD | REST
"""A page of a run, without its generations."""
SUMMARY: Final = shape_of(
    f"""name=run task suite seed began=t state newest=t_last self_judged spent {_AIMS} believed best=best_value
    held_out programs generations=ended correct quarantined curve=long_curve"""
)
"""A row of the page of runs."""

_POINTS: Final = 100
"""The number of values in a run's curve on a page."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunView:
    """One run by its `name`. `views` are those of all its generations in order, if the caller has them."""

    name: str
    archive: RunReader
    views: Sequence[GenerationView] | None = None

    def to_json(self, shape: Shape) -> dict[str, Any]:
        """The facts of a shape as plain values."""
        return {key: self.score.get(fact) if fact in _OF_THE_BEST else FACTS[fact](self) for key, fact in shape.items()}

    @cached_property
    def generations(self) -> Sequence[GenerationView]:
        """All generations that were begun, in order."""
        return all_generations(self.archive) if self.views is None else self.views

    @cached_property
    def best(self) -> GenerationView | None:
        """The view of the best program; None while none is correct."""
        return GenerationReader(self.archive).best

    @cached_property
    def score(self) -> Mapping[str, Any]:
        """The facts of the best program's score; empty while none is correct."""
        best = self.archive.best
        bounds = {} if best is None else {"value_bound": best.value_bound, "value_gap": best.value_gap}
        return bounds if best is None else score_json(best) | bounds

    @cached_property
    def models(self) -> Sequence[ModelYield]:
        """The yield of each of its models."""
        return model_yields(self.archive)

    @cached_property
    def running(self) -> bool:
        """Whether a session is in progress."""
        return self.archive.finished is None and self.archive.running

    @property
    def state(self) -> str:
        """Running, or how it ended, in words."""
        return how_it_stands(self.archive.finished, running=self.running)

    @property
    def shown(self) -> ProgramRecord | None:
        """The program with the run's objective and bounds: the best, or the newest while none is correct."""
        return self.archive.best or next(iter(self.archive.programs[-1:]), None)

    @property
    def target(self) -> dict[str, Any] | None:
        """The reference of its gap, as in the terminal's tables: a bound, proven to be the optimum or not; if there is
        no bound, the best known value."""
        if self.shown is not None and self.shown.value_bound is not None:
            return {"value": self.shown.value_bound, "name": bound_word(self.shown.objective)}
        best_known = None if self.shown is None else self.shown.best_known
        return None if best_known is None else {"value": best_known.value, "name": "best known"}


_OF_THE_BEST: Final = frozenset(
    ("metric", "direction", "value", "spread", "value_bound", "value_gap", "ceiling", "gap")
)
"""Facts that are keys of the best program's score."""


def columns(views: Sequence[GenerationView]) -> dict[str, list[Any]]:
    """A list for each key of COLUMNS, one entry for each generation."""
    rows = [view.to_json(COLUMNS) for view in views]
    return {key: [row[key] for row in rows] for key in COLUMNS}


def _spent_json(archive: RunReader) -> dict[str, Any]:
    spent, kept = archive.spent, archive.under_way
    names = ("tokens", "cost_usd", "known_usd", "calls", "tokens_cached", "unanswered", "unanswered_usd")
    under_way = {"calls": kept.calls, "tokens": kept.tokens, "cost_usd": kept.cost_usd}
    more = {"under_way": under_way, "seconds": archive.timeline.seconds()}
    return {name: getattr(spent, name) for name in names} | more


def _bound_json(run: RunView) -> dict[str, Any] | None:
    if run.shown is None or run.shown.value_bound is None:
        return None
    judge = judge_of(run.archive)
    proven = None if judge is None else all(instance.proven for instance in judge[1].instances)
    return {"value": run.shown.value_bound, "proven": proven}


def _best_known_json(run: RunView) -> dict[str, Any] | None:
    if run.shown is None or run.shown.best_known is None:
        return None
    best_known, best = run.shown.best_known, run.archive.best
    return {"value": best_known.value, "where_from": best_known.where_from, "beaten": bool(best and best.beyond)}


def _believed_json(run: RunView) -> dict[str, Any]:
    """The results of all checks of the best program."""
    archive, best, held, record = run.archive, run.best, run.archive.held_out_of_best, run.archive.best
    evaluation = None if best is None else best.evaluation
    remeasured = None if record is None else archive.remeasured.get(record.generation)
    return {
        "quarantined": FACTS["quarantined"](run),
        "evaluator_version": archive.identity.get("evaluator_version"),
        "strict": evaluation and strict_text(evaluation.strict),
        "sandbox": archive.identity.get("sandbox") if evaluation is None else evaluation.sandbox,
        "overfitted": best and best.why_overfitted,
        "warnings": against_best(archive),
        "held_out": held
        and {"gap": held.value_gap, "value": held.value, "correct": held.correct, "suite": held.suite}
        | {"change": held_out_change(archive)},
        "fresh": best and best.fresh,
        "holds": archive.best_holds,
        "orders": record and orders_text(record, archive.reordered.get(record.generation)),
        "remeasured": remeasured and remeasured_text(remeasured),
    }


# -- how far its generations came ------------------------------------------------------------------------------------

_FAILED: Final = frozenset({"failed", "refused", "duplicate", "quarantined", "unanswered"})
_EXAMPLE_LIMIT: Final = 1000
_COUNTED: Final = ("asked", "answered", "applied", "correct", "improved", "best")


def _funnel(views: Sequence[GenerationView]) -> list[dict[str, Any]]:
    """For each of STAGES, how many proposals reached it, and which ended there."""
    ended: list[list[int]] = [[] for _ in STAGES]
    for view in views:
        if view.stage is not None:
            ended[view.stage].append(view.generation)
    reached = [sum(map(len, ended[index:])) for index in range(len(STAGES))]
    return [
        {"stage": stage, "count": count, "generations": generations}
        for stage, count, generations in zip(STAGES, reached, ended, strict=True)
    ]


def _failures(views: Sequence[GenerationView]) -> list[dict[str, Any]]:
    """The reasons why generations gave no correct program, the most frequent first: how often, which generations, and
    the last message. `again`: the generations in which an answer was refused for that reason and requested again."""
    ended: dict[str, list[GenerationView]] = {}
    again: dict[str, list[AttemptRecord]] = {}
    for view in views:
        if view.mark in _FAILED:
            ended.setdefault(view.reason or view.mark, []).append(view)
        for attempt in view.questions[:-1]:
            if attempt.reason is not None:
                again.setdefault(attempt.reason, []).append(attempt)
    groups = [(reason, ended.get(reason, []), again.get(reason, [])) for reason in dict.fromkeys((*ended, *again))]
    return [
        {
            "reason": reason,
            "count": len(failed),
            "generations": [view.generation for view in failed],
            "again": [attempt.generation for attempt in refused],
            "example": block(failed[-1].whole_fault if failed else refused[-1].message or "", _EXAMPLE_LIMIT),
        }
        for reason, failed, refused in sorted(groups, key=lambda group: (-len(group[1]) - len(group[2]), group[0]))
    ]


def _yields(views: Sequence[GenerationView], models: Sequence[ModelYield]) -> list[dict[str, Any]]:
    """The yield of each patch kind, model and feature, the most requested first: how many proposals reached each stage;
    `gain`, the sum of all improvements over the parent; `cost_usd`, None if a price is unknown; `gain_per_usd`, also
    None if nothing was paid. A program with several features counts for each."""
    of_models = [
        _yield_row("model", model.model, [getattr(model, name) for name in _COUNTED], model.gain, model.spent.cost_usd)
        for model in models
    ]
    kinds = _grouped("kind", views, lambda view: (view.patch_kind,))
    return [*kinds, *of_models, *_grouped("feature", views, lambda view: dict.fromkeys(view.features))]


def _grouped(
    by: str, views: Sequence[GenerationView], names: Callable[[GenerationView], Iterable[str]]
) -> list[dict[str, Any]]:
    groups: dict[str, list[GenerationView]] = {}
    for view in views:
        if view.stage is not None:
            for name in names(view):
                groups.setdefault(name, []).append(view)
    ordered = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [_of_group(by, name, members) for name, members in ordered]


def _of_group(by: str, name: str, members: Sequence[GenerationView]) -> dict[str, Any]:
    stages = [view.stage for view in members if view.stage is not None]
    reached = [sum(stage >= STAGES.index(counted) for stage in stages) for counted in _COUNTED]
    gain = sum(max(0.0, view.value_change) for view in members if view.value_change is not None)
    costs = [view.spent.cost_usd for view in members if view.spent.cost_usd is not None]
    return _yield_row(by, name, reached, gain, sum(costs) if len(costs) == len(members) else None)


def _yield_row(by: str, name: str, reached: Sequence[int], gain: float, cost_usd: float | None) -> dict[str, Any]:
    paid = {"gain": gain, "cost_usd": cost_usd, "gain_per_usd": gain / cost_usd if cost_usd else None}
    return {"by": by, "name": name} | dict(zip(_COUNTED, reached, strict=True)) | paid


FACTS: Final[Mapping[str, Callable[[RunView], Any]]] = {
    "run": lambda r: r.name,
    "task": lambda r: r.archive.identity["task"],
    "suite": lambda r: r.archive.identity["suite"],
    "seed": lambda r: r.archive.identity.get("seed"),
    "run_id": lambda r: r.archive.run_id,
    "fingerprint": lambda r: r.archive.fingerprint(),
    "repeatable": lambda r: all(program.spread is None for program in r.archive.programs),
    "config": lambda r: config_json(r.archive),
    # its state
    "finished": lambda r: r.archive.finished,
    "running": lambda r: r.running,
    "state": lambda r: {"text": r.state, "finished": r.archive.finished, "running": r.running},
    "t": lambda r: r.archive.began,
    "t_last": lambda r: r.archive.newest,
    "events": lambda r: r.archive.timeline.events,
    "sessions": lambda r: sessions_json(r.archive),
    "notes": lambda r: notes_json(r.archive),
    "programs": lambda r: len(r.archive.programs),
    "ended": lambda r: r.archive.ended,
    "correct": lambda r: sum(program.correct for program in r.archive.programs),
    "quarantined": lambda r: sum(program.quarantine is not None for program in r.archive.programs),
    "curve": lambda r: sampled(r.archive),
    "long_curve": lambda r: [value for value in sampled(r.archive, _POINTS) if value is not None],
    # its cost
    "model_calls": lambda r: r.archive.spent.calls,
    "tokens": lambda r: r.archive.spent.tokens,
    "cost_usd": lambda r: r.archive.spent.cost_usd,
    "tokens_cached": lambda r: r.archive.spent.tokens_cached,
    "unanswered_calls": lambda r: r.archive.spent.unanswered,
    "unanswered_usd": lambda r: r.archive.spent.unanswered_usd,
    "calls_under_way": lambda r: r.archive.under_way.calls,
    "tokens_under_way": lambda r: r.archive.under_way.tokens,
    "usd_under_way": lambda r: r.archive.under_way.cost_usd,
    "spent": lambda r: _spent_json(r.archive),
    "troubles": lambda r: troubles_json(r.archive, running=r.running),
    "workers": lambda r: workers_json(r.archive),
    "calls": lambda r: calls_json(r.archive),
    "calls_by_kind": lambda r: calls_by_kind(all_calls(r.archive)),
    "adapted": lambda r: adaptations(r.archive),
    "models": lambda r: [model.to_json() for model in r.models],
    # its objective, and its best
    "objective": lambda r: r.shown and r.shown.objective.to_json(),
    "bound": _bound_json,
    "best_known": _best_known_json,
    "target": lambda r: r.target,
    "gap_to_target": lambda r: (b := r.archive.best) and r.target and b.objective.gap(b.value, r.target["value"]),
    "best_score": lambda r: (b := r.archive.best) and b.combined_score,
    "best_generation": lambda r: (b := r.archive.best) and b.generation,
    "best_value": lambda r: (b := r.archive.best) and b.value,
    "self_judged": lambda r: (b := r.archive.best) is not None and b.self_judged,
    "overfitted": lambda r: r.best and r.best.why_overfitted,
    "fresh": lambda r: r.best and r.best.fresh,
    "held_out": lambda r: (h := r.archive.held_out_of_best) and h.value,
    "believed": _believed_json,
    "path": lambda r: [step.generation for step in chain(r.archive, r.archive.best)] if r.archive.best else [],
    "lines": lambda r: lines(r.archive),
    "instances": lambda r: matrix(r.archive),
    # facts that need all its generations
    "funnel": lambda r: _funnel(r.generations),
    "failures": lambda r: _failures(r.generations),
    "yields": lambda r: _yields(r.generations, r.models),
    "uplift": lambda r: (uplift := uplift_of(r.archive, r.generations)) and uplift.to_json(),
    "meta": lambda r: timeline(r.archive, {g.generation: (g.mark, g.value_change) for g in r.generations}),
    "learning": lambda r: missing_reports(r.archive),
    "since_best": lambda r: standstill(r.archive),
    "tuning_baseline": lambda r: tuned_alone(r.archive),
    "audit": lambda r: audit_json(r.archive),
}
"""Every other fact. To add one, add a line here and its name to the shapes that show it."""
