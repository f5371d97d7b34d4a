"""Two evaluations of one program side by side: the recorded one and a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evaluator.evaluation import Evaluation, InstanceResult
from evaluator.untrusted import one_line
from evolve.archive.ranking import compared
from evolve.archive.records import ProgramRecord
from evolve.review.scores import SELF_JUDGED, as_float, score_json
from evolve.review.table import Fit, Table, TableOf, outcome_cell
from evolve.review.texts import patch_label


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two evaluations of one program side by side: `differences` has each instance that disagrees, as (recorded,
    replayed), None if an evaluation has no such instance.

    `fields` maps `outcome`, `combined_score`, `published_score`, `ceiling`, `quarantine` and the judge's metrics
    to (recorded, replayed) if they disagree. Nothing that a clock measured is compared. Where the score itself depends
    on the clock or on chance (`timed`), the outcomes of instances must agree and the spreads of the scores overlap.
    Other values of a script about a self-judged program may hold times; their differences stand `aside`.
    """

    differences: Mapping[int, tuple[InstanceResult | None, InstanceResult | None]]
    fields: Mapping[str, tuple[object, object]]
    timed: bool = False
    aside: Mapping[str, tuple[object, object]] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Nothing disagrees."""
        return not self.differences and not self.fields


def compare(recorded: Evaluation, replayed: Evaluation) -> Comparison:
    """Compare two evaluations, instance by instance and as a whole."""
    first = {result.instance: result for result in recorded.results}
    second = {result.instance: result for result in replayed.results}
    ranged = recorded.spread is not None and replayed.spread is not None
    timed = ranged or (recorded.pairs is not None and replayed.pairs is not None)
    pairs = {index: (first.get(index), second.get(index)) for index in sorted(first.keys() | second.keys())}
    differences = {index: (old, new) for index, (old, new) in pairs.items() if _seen(old, timed) != _seen(new, timed)}
    before, after = _whole(recorded), _whole(replayed)
    fields = {
        name: (before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    }
    aside: dict[str, tuple[object, object]] = {}
    if recorded.self_judged and replayed.self_judged:
        aside = {name: pair for name, pair in fields.items() if name not in (*_OF_THE_SCORE, recorded.objective.metric)}
        fields = {name: pair for name, pair in fields.items() if name not in aside}
    if timed:
        fields = {name: pair for name, pair in fields.items() if name in _TIMELESS}
        if ranged and compared(recorded.combined_score, recorded.spread, replayed.combined_score, replayed.spread):
            fields["combined_score"] = recorded.combined_score, replayed.combined_score
    return Comparison(differences=differences, fields=fields, timed=timed, aside=aside)


_OF_THE_SCORE: Final = ("outcome", "combined_score", "published_score", "ceiling", "quarantine")
_SHOWN: Final = 20
"""The most disagreeing instances that are named."""
_TIMELESS: Final = frozenset({"outcome", "quarantine"})
"""The fields that repeat even if the clock is the score."""


def _whole(evaluation: Evaluation) -> dict[str, object]:
    return {name: getattr(evaluation, name) for name in _OF_THE_SCORE} | dict(evaluation.metrics)


def _seen(result: InstanceResult | None, timed: bool) -> object:
    if result is None:
        return None
    return result.outcome if timed else result.exact_result


def _measured(result: InstanceResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {"outcome": result.outcome.value, "cost": None if result.cost is None else str(result.cost)}


def to_json(
    program: ProgramRecord, recorded: Evaluation, replayed: Evaluation, comparison: Comparison
) -> dict[str, Any]:
    """The keys of `evolve replay --json`."""
    return {
        "program": program.commit,
        "recorded": _side(recorded),
        "replayed": _side(replayed),
        "equal": comparison.equal,
        "differences": [
            {"instance": index, "recorded": _measured(old), "replayed": _measured(new)}
            for index, (old, new) in comparison.differences.items()
        ],
    }


def _side(evaluation: Evaluation) -> dict[str, Any]:
    more = ("published_score", "quarantine", "sandbox", "evaluator_version")
    return score_json(evaluation) | {name: getattr(evaluation, name) for name in more}


def title(program: ProgramRecord, short: str) -> str:
    """The program that was scored again; `short` is its shortened commit."""
    return f"Generation {program.generation} ({short}), {patch_label(program)}, scored again"


def table(recorded: Evaluation, replayed: Evaluation) -> Table:
    """The two verdicts, one below the other."""
    table = TableOf([("recorded", recorded), ("replayed", replayed)])
    table.column("", lambda side: side[0])
    table.score_columns(lambda side: side[1])
    table.metric_columns(lambda side: side[1])
    table.column("outcome", lambda side: outcome_cell(side[1]))
    return table.table()


def differences_table(comparison: Comparison) -> Table:
    """The instances that disagree."""
    table = TableOf(comparison.differences.items())
    table.column("instance", lambda entry: str(entry[0]), number=True)
    table.column("recorded", lambda entry: _result_text(entry[1][0]), fit=Fit.FOLD)
    table.column("replayed", lambda entry: _result_text(entry[1][1]), fit=Fit.FOLD)
    return table.table()


def remarks(recorded: Evaluation, replayed: Evaluation, comparison: Comparison) -> list[str]:
    """Further differences: fields of the whole, another evaluator, another sandbox."""
    lines = [f"{name}: recorded {before!r}, replayed {after!r}" for name, (before, after) in comparison.fields.items()]
    if comparison.aside:
        names = ", ".join(one_line(name, 60) for name in comparison.aside)
        lines.append(f"The script's values differ for {names}; they do not affect the result.")
    if recorded.evaluator_version != replayed.evaluator_version:
        lines.append(
            f"The evaluator has changed: version {recorded.evaluator_version[:12]} is recorded, "
            f"this is {replayed.evaluator_version[:12]} (another judge, adapter, suite or sandbox policy)."
        )
    if recorded.sandbox != replayed.sandbox:
        lines.append(f"The sandbox level was {recorded.sandbox} and is now {replayed.sandbox}.")
    return lines


def conclusion(recorded: Evaluation, replayed: Evaluation, comparison: Comparison) -> str:
    """The answer in one sentence."""
    total = max(len(recorded.results), len(replayed.results))
    if comparison.equal and replayed.self_judged:
        within = ", within its spread" if comparison.timed else ""
        return f"Equal: it ended as recorded, with the same score{within} ({SELF_JUDGED}: its own process made both)."
    if comparison.equal and comparison.timed:
        return (
            f"Equal: every one of the {total} instances ended as recorded, and the speeds agree within their spread "
            "(measured speeds never repeat exactly)."
        )
    if comparison.equal:
        return f"Equal: every one of the {total} instances ended as recorded, with the same exact cost."
    if not comparison.differences:
        return f"Different: the instances agree, but not the overall {' and '.join(comparison.fields)}."
    count, first = len(comparison.differences), [*comparison.differences][:_SHOWN]
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    return f"Different on {count} of {total} instances: {', '.join(map(str, first))}{more}."


def _result_text(result: InstanceResult | None) -> str:
    if result is None:
        return "no such instance"
    if result.cost is None:
        return f"{result.outcome.value}: {result.detail}"
    return f"{result.outcome.value}, cost {result.cost} = {as_float(result.cost):.9f}"
