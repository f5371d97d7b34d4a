"""Scores in words and JSON: value, ceiling and gap, checks, and the order of programs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

from evaluator.evaluation import Evaluation, OrderRange, Scored
from evaluator.objective import COMBINED, GAIN_UNIT, HUGE, Direction, Objective
from evaluator.untrusted import one_line
from evolve.archive.events import ForeignClaim, FreshEvent, FreshState, HeldOutEvent, RemeasuredEvent
from evolve.archive.ranking import rank_score
from evolve.archive.records import FreshCheck, ProgramRecord
from evolve.core.errors import InputError
from evolve.insights.credit import SAME, change_on, on_medians

SELF_JUDGED: Final = "self-judged"
"""The label of a score from a process that the program shares."""


def metrics_of(scored: Scored) -> Mapping[str, float]:
    """The metrics of the judge, and `runtime_s`."""
    own = {"runtime_s": scored.runtime_s} if isinstance(scored, Evaluation) else {}
    return dict(scored.metrics) | own


def score_json(scored: Scored) -> dict[str, Any]:
    """The keys that every JSON answer about a program shares. `best_known` is a score; None if there is none, or it has
    no score."""
    best_known = None if scored.best_known is None else scored.best_known.score
    return {
        "correct": scored.correct,
        "outcome": scored.outcome.value,
        "combined_score": scored.combined_score,
        "metric": scored.objective.metric,
        "direction": scored.objective.direction.value,
        "value": scored.value,
        "spread": None if scored.spread is None else list(scored.spread),
        "confirmed": None if scored.confirmed is None else asdict(scored.confirmed),
        "ceiling": scored.ceiling,
        "gap": scored.gap,
        "best_known": best_known,
        "gap_to_best_known": None if best_known is None else best_known - scored.combined_score,
        "beyond_best_known": scored.beyond,
        "self_judged": scored.self_judged,
        "quarantined": scored.quarantine is not None,
        "metrics": dict(metrics_of(scored)),
    }


def ranked(programs: Iterable[ProgramRecord]) -> list[ProgramRecord]:
    """Programs by rank, best first, the earlier of equals first; those that do not count come last."""
    return sorted(programs, key=lambda p: (not _counts(p), -rank_score(p), p.generation))


def sort_keys(programs: Iterable[ProgramRecord]) -> list[str]:
    """The keys of `ordered` for these programs: score, generation, gap, and their metrics."""
    metrics = {name for program in programs for name in program.metrics}
    return ["score", "generation", "gap", *sorted(metrics)]


def ordered(programs: Iterable[ProgramRecord], key: str) -> list[ProgramRecord]:
    """The programs by `key` (see `sort_keys`), best first; those that do not count, or lack the key, come last.

    The smallest gap and the shortest runtime are best, else the largest value. Raises InputError on another key.
    """
    programs = list(programs)
    keys = sort_keys(programs)
    if key not in keys:
        raise InputError(f"cannot sort by {key!r}: these programs have {', '.join(keys)}")
    if key == "score":
        return ranked(programs)
    if key == "generation":
        return sorted(programs, key=lambda p: p.generation)

    def position(program: ProgramRecord) -> tuple[bool, bool, float, int]:
        value = program.gap if key == "gap" else program.metrics.get(key)
        sign = 1 if key in ("gap", "runtime_s") else -1
        if key == program.objective.metric:
            sign = -program.objective.direction.sign
        return not _counts(program), value is None, 0.0 if value is None else sign * value, program.generation

    return sorted(programs, key=position)


def _counts(program: ProgramRecord) -> bool:
    return program.correct and program.quarantine is None and not program.excluded


def score_text(value: float | None) -> str:
    """A score, a ceiling or a gap with 6 decimals, since a score within 1e-6 has reached the ceiling."""
    return _decimals(value, 6)


def value_text(value: float | None) -> str:
    """A metric in which programs are ranked: 6 decimals, or as many digits where it is tiny or huge."""
    if value is None or not value or 1e-3 <= abs(value) < HUGE:
        return score_text(value)
    return f"{value:.7g}"


def claimed_text(program: ProgramRecord) -> str:
    """The score that the folder of an imported program claims; `-` without one."""
    return value_text(None if program.claimed is None else program.claimed.score)


def claim_text(claim: ForeignClaim) -> str:
    """What the folder of an imported program claims, in a sentence."""
    score = (
        f"score {claim.stated or value_text(claim.score)}" if claim.stated or claim.score is not None else "no score"
    )
    correct = {None: "", True: ", correct", False: ", not correct"}[claim.correct]
    parts = [f"{score}{correct} (in the folder it was imported from, as {one_line(claim.id, 60)})", *claim.notes]
    return one_line("; ".join(parts), 1000)


def change_text(program: ProgramRecord, other: ProgramRecord | None) -> str:
    """The change from another program: `5 slots better`; `-` if one of them has no value. If both are confirmed in
    other orders, the change of their medians: `5 slots better by medians`."""
    if other is None or program.value is None or other.value is None:
        return "-"
    medians = on_medians(program, other)
    change = change_on(program, other) if medians else None
    change = program.value - other.value if change is None else program.objective.direction.sign * change
    worded = program.objective.worded(change if abs(change) > SAME else 0.0, program.value)
    return f"{worded} by medians" if medians else worded


def as_float(value: Fraction) -> float:
    """An exact value as a float; infinite if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite(value: Fraction | float | None) -> float | None:
    """A number as JSON takes it; None for None, and for a number that is no finite float."""
    shown = as_float(value) if isinstance(value, Fraction) else value
    return shown if shown is not None and math.isfinite(shown) else None


def metric_text(value: float | None) -> str:
    """A metric other than the score, with 4 decimals."""
    return _decimals(value, 4)


def measured_text(scored: Scored) -> str:
    """A value, with its spread if it depends on a clock or on chance: `2.310 (2.250 to 2.370)`."""
    if scored.spread is None or scored.value is None:
        return value_text(scored.value)
    value = value_text(scored.value) if scored.self_judged else f"{scored.value:.3f}"
    return f"{value} {spread_text(scored)}"


def spread_text(scored: Scored) -> str:
    """The spread of a score: `(2.250 to 2.370)`; empty if the score is a function of the program."""
    if scored.spread is None:
        return ""
    low, high = scored.spread
    if not scored.self_judged:
        return f"({low:.3f} to {high:.3f})"
    metric = "" if scored.objective.metric == COMBINED else f"{COMBINED} "
    return f"({metric}{value_text(low)} to {value_text(high)})"


def range_text(scored: Scored, orders: OrderRange | None = None) -> str:
    """The range of a program's score in other orders (by default of its confirmation), in its metric if the score is
    that: `238 to 251, median 244`; empty without one."""
    orders = orders or scored.confirmed
    if orders is None:
        return ""
    scale = scored.objective.scale(scored.combined_score, scored.value)
    low, high, median = orders.shown(scale)
    metric = f"{COMBINED} " if scale.metric == COMBINED != scored.objective.metric else ""
    return f"{metric}{low} to {high}, median {median}"


def orders_text(scored: Scored, orders: OrderRange | None = None) -> str:
    """The range behind a score: `in 5 other orders: 238 to 251, median 244`; empty without one."""
    orders = orders or scored.confirmed
    return "" if orders is None else f"in {orders.n} other orders: {range_text(scored, orders)}"


def remeasured_text(event: RemeasuredEvent) -> str:
    """What fresh pairs at a session's end say: `1.412 times as good as the unchanged code (1.375 to 1.459, in 32 fresh
    pairs of runs)`."""
    result = event.result
    text = (
        f"{result['times']:.3f} times as good as the unchanged code ({result['low']:.3f} to {result['high']:.3f}, "
        f"in {result['pairs']} fresh pairs of runs)"
    )
    return text if result["is_better"] else f"not shown to be better: {text}"


def sentence(scored: Scored) -> str:
    """The score in words, with its ceiling and gap, its range in other orders, or its spread."""
    if scored.spread is not None and scored.correct and not scored.self_judged:
        compared = "good as the unchanged code" if scored.objective.unit == GAIN_UNIT else "fast as the reference"
        return f"{measured_text(scored)} times as {compared}"
    score = named_value(scored.objective, scored.value)
    if scored.spread is not None:
        score += f" {spread_text(scored)}"
    word = bound_word(scored.objective)
    remarks = [SELF_JUDGED if scored.self_judged else f"no {word} is known"]
    if scored.value_bound is not None:
        remarks = [f"{word} {value_text(scored.value_bound)}, gap {score_text(scored.value_gap)}"]
    if scored.best_known is not None:
        remarks.append(f"best known {value_text(scored.best_known.value)}, {scored.best_known.where_from}")
    if scored.confirmed is not None:
        remarks.append(orders_text(scored))
    return f"{score} ({'; '.join(remarks)})"


def bound_word(objective: Objective) -> str:
    """The word for the value at the bounds: `ceiling` if more is better, else `bound`."""
    return "ceiling" if objective.direction is Direction.MAXIMISE else "bound"


def named_value(objective: Objective, value: float | None) -> str:
    """A value with its metric's name and unit; a combined score is the number only."""
    text = value_text(value)
    if objective.metric == COMBINED or value is None:
        return text
    unit = f" {objective.unit}" if objective.unit else ""
    return f"{objective.metric} {text}{unit}"


def held_out_text(held_out: HeldOutEvent) -> str:
    """The value on the held-out suite, with its gap there: `25.910000, gap 0.400000`."""
    if not held_out.correct:
        return f"{score_text(held_out.combined_score)}, not correct there"
    gap = "" if held_out.value_gap is None else f", gap {score_text(held_out.value_gap)}"
    return f"{value_text(held_out.value)}{gap}"


def held_out_value(held_out: HeldOutEvent | None) -> str:
    """The value on the held-out suite, without its gap."""
    return value_text(None if held_out is None else held_out.value)


def fresh_text(check: FreshCheck) -> str:
    """The check on fresh instances in words: its state, and the result of each sample."""
    tried, ended = [sample for sample in check.samples if sample.count], {FreshState.HELD, FreshState.FAILED}
    samples = list(map(_sample_text, tried))
    if len(tried) > 1:
        counts = [", which counts" if check.state in ended and sample is check.counts else "" for sample in tried]
        samples = [f"sample {number}{counts[number - 1]}: {text}" for number, text in enumerate(samples, 1)]
    why = check.samples[-1].why if check.samples else None
    parts = [*samples, *([one_line(why, 400)] if why is not None else [])]
    return f"{check.state.value.replace('_', ' ')}{': ' if parts else ''}{'; '.join(parts)}"


def fresh_json(check: FreshCheck) -> dict[str, Any]:
    """The check on fresh instances as JSON: its `state`, its `text` for people, the sample that counts, and all samples
    in order."""
    counts = {} if check.counts is None else _sample_json(check.counts)
    samples = list(map(_sample_json, check.samples))
    return counts | {"state": check.state.value, "text": fresh_text(check), "samples": samples}


def _sample_json(sample: FreshEvent) -> dict[str, Any]:
    names = ("suite", "seed", "correct", "better", "equal", "worse", "overfitted", "why")
    tried = {"state": sample.state.value, "instances": sample.count, "wanted": sample.instances}
    return tried | {name: getattr(sample, name) for name in names}


def _sample_text(sample: FreshEvent) -> str:
    whole = sample.count == sample.instances
    count = f"all {sample.count}" if whole else f"the first {sample.count} of {sample.instances}"
    result = f"correct on {count}" if sample.correct else f"not correct on at least one of {sample.count}"
    result += f" fresh instances (seed {one_line(sample.seed, 40)})"
    proven = ", no sign of overfitting" if whole and sample.correct else ""
    doubt = proven if sample.overfitted is None else ", overfitted"
    tally = f"{sample.better} better, {sample.equal} equal, {sample.worse} worse"
    return f"{result}{doubt}; compared with the initial program: {tally}"


def _decimals(value: float | None, decimals: int) -> str:
    if value is not None and abs(value) >= HUGE:
        return f"{value:.7g}"
    return "-" if value is None else f"{round(value, decimals) + 0.0:.{decimals}f}"  # a zero has no sign
