"""How a program stands: its score beside ceiling and gap, whether it may be believed, and the order that follows."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

from evaluator.evaluation import Evaluation, OrderRange
from evaluator.objective import COMBINED, HUGE, Direction, Objective
from evaluator.untrusted import one_line
from evolve.archive.events import FreshEvent, FreshState, HeldOutEvent
from evolve.archive.ranking import rank_score
from evolve.archive.records import FreshCheck, ProgramRecord
from evolve.core.errors import InputError
from evolve.insights.credit import SAME, change_on, on_medians

SELF_JUDGED: Final = "self-judged"
"""What stands beside a score that a program had a hand in: it shares the process that makes it."""


Scored = ProgramRecord | Evaluation
"""What has a score: a recorded program, or an evaluation of one."""


def metrics_of(scored: Scored) -> Mapping[str, float]:
    """The metrics of the judge, and `runtime_s`."""
    own = {"runtime_s": scored.runtime_s} if isinstance(scored, Evaluation) else {}
    return dict(scored.metrics) | own


def score_json(scored: Scored) -> dict[str, Any]:
    """The keys that every JSON answer about a program shares. `best_known` is a score; None where there is none, or it
    cannot be said as one."""
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
    """Correct, unquarantined programs by what they rank by, best first, of equals the earlier; then all the others."""
    return sorted(programs, key=lambda p: (not _counts(p), -rank_score(p), p.generation))


def sort_keys(programs: Iterable[ProgramRecord]) -> list[str]:
    """What `ordered` can order these programs by: score, generation, gap, and the metrics they have."""
    metrics = {name for program in programs for name in program.metrics}
    return ["score", "generation", "gap", *sorted(metrics)]


def ordered(programs: Iterable[ProgramRecord], key: str) -> list[ProgramRecord]:
    """The programs by `key` (see `sort_keys`), best first; what cannot be believed, or lacks the key, stands last.

    The smallest gap and the shortest runtime are best, else the largest value. Raises InputError on another key.
    """
    programs = list(programs)
    known = sort_keys(programs)
    if key not in known:
        raise InputError(f"cannot sort by {key!r}: these programs have {', '.join(known)}")
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
    """A score, a ceiling or a gap as it is shown: 6 decimals, since a score within 1e-6 has reached the ceiling."""
    return _decimals(value, 6)


def value_text(value: float | None) -> str:
    """A metric in which programs are ranked: 6 decimals, or as many digits where it is tiny or huge."""
    if value is None or not value or 1e-3 <= abs(value) < HUGE:
        return score_text(value)
    return f"{value:.7g}"


def change_text(program: ProgramRecord, other: ProgramRecord | None) -> str:
    """How a program differs from another: `5 slots better`; `-` where one of them has no value. Where both are
    confirmed in other orders, by their medians, which is said."""
    if other is None or program.value is None or other.value is None:
        return "-"
    medians = on_medians(program, other)
    change = change_on(program, other) if medians else None
    change = program.value - other.value if change is None else program.objective.direction.sign * change
    worded = program.objective.worded(change if abs(change) > SAME else 0.0)
    return f"{worded} by medians" if medians else worded


def as_float(value: Fraction) -> float:
    """An exact value as it is shown; infinite where it is beyond every float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite(value: Fraction | float | None) -> float | None:
    """A number as JSON takes it; None for one that is beyond every float, or none."""
    shown = as_float(value) if isinstance(value, Fraction) else value
    return shown if shown is not None and math.isfinite(shown) else None


def metric_text(value: float | None) -> str:
    """A metric other than the score, with 4 decimals."""
    return _decimals(value, 4)


def measured_text(scored: Scored) -> str:
    """A value as it is shown, with its spread where a clock or chance is in it: `2.310 (2.250 to 2.370)`."""
    if scored.spread is None or scored.value is None:
        return value_text(scored.value)
    value = value_text(scored.value) if scored.self_judged else f"{scored.value:.3f}"
    return f"{value} {spread_text(scored)}"


def spread_text(scored: Scored) -> str:
    """Between what a score lies: `(2.250 to 2.370)`; empty where it is a function of the program."""
    if scored.spread is None:
        return ""
    low, high = scored.spread
    if not scored.self_judged:
        return f"({low:.3f} to {high:.3f})"
    what = "" if scored.objective.metric == COMBINED else f"{COMBINED} "
    return f"({what}{value_text(low)} to {value_text(high)})"


def range_text(scored: Scored, orders: OrderRange | None = None) -> str:
    """What a program scores in other orders (of its confirmation, unless others are given), as its metric where the
    score is that: `238 to 251, median 244`; empty without any."""
    orders = orders or scored.confirmed
    if orders is None:
        return ""
    scale = scored.objective.scale(scored.combined_score, scored.value)
    low, high, median = orders.shown(scale)
    what = f"{COMBINED} " if scale.metric == COMBINED != scored.objective.metric else ""
    return f"{what}{low} to {high}, median {median}"


def orders_text(scored: Scored, orders: OrderRange | None = None) -> str:
    """The same as it stands behind a score: `in 5 other orders: 238 to 251, median 244`; empty without any."""
    orders = orders or scored.confirmed
    return "" if orders is None else f"in {orders.n} other orders: {range_text(scored, orders)}"


def sentence(scored: Scored) -> str:
    """The score with its ceiling and gap, its range in other orders, or its spread, in words."""
    if scored.spread is not None and scored.correct and not scored.self_judged:
        return f"{measured_text(scored)} times as fast as the reference"
    score = named_value(scored.objective, scored.value)
    if scored.spread is not None:
        score += f" {spread_text(scored)}"
    word = bound_word(scored.objective)
    said = [SELF_JUDGED if scored.self_judged else f"no {word} is known"]
    if scored.value_bound is not None:
        said = [f"{word} {value_text(scored.value_bound)}, gap {score_text(scored.value_gap)}"]
    if scored.best_known is not None:
        said.append(f"best known {value_text(scored.best_known.value)}, {scored.best_known.where_from}")
    if scored.confirmed is not None:
        said.append(orders_text(scored))
    return f"{score} ({'; '.join(said)})"


def bound_word(objective: Objective) -> str:
    """What the value at the bounds is called: nothing gets above a ceiling."""
    return "ceiling" if objective.direction is Direction.MAXIMISE else "bound"


def named_value(objective: Objective, value: float | None) -> str:
    """A value with its metric's name and unit: a score alone is a number alone."""
    text = value_text(value)
    if objective.metric == COMBINED or value is None:
        return text
    unit = f" {objective.unit}" if objective.unit else ""
    return f"{objective.metric} {text}{unit}"


def held_out_text(held_out: HeldOutEvent) -> str:
    """What a program scores on the held-out suite, with its gap there: `25.910000, gap 0.400000`."""
    if not held_out.correct:
        return f"{score_text(held_out.combined_score)}, not correct there"
    gap = "" if held_out.value_gap is None else f", gap {score_text(held_out.value_gap)}"
    return f"{value_text(held_out.value)}{gap}"


def held_out_value(held_out: HeldOutEvent | None) -> str:
    """The value on the held-out suite alone."""
    return value_text(None if held_out is None else held_out.value)


def fresh_text(check: FreshCheck) -> str:
    """The check of a program on fresh instances: its state, and the result of each sample."""
    tried, ended = [sample for sample in check.samples if sample.count], {FreshState.HELD, FreshState.FAILED}
    samples = list(map(_sample_text, tried))
    if len(tried) > 1:
        counts = [", which counts" if check.state in ended and one is check.counts else "" for one in tried]
        samples = [f"sample {number}{counts[number - 1]}: {text}" for number, text in enumerate(samples, 1)]
    why = check.samples[-1].why if check.samples else None
    told = [*samples, *([one_line(why, 400)] if why is not None else [])]
    return f"{check.state.value.replace('_', ' ')}{': ' if told else ''}{'; '.join(told)}"


def fresh_json(check: FreshCheck) -> dict[str, Any]:
    """The same as JSON: its state in a word (`state`) and as people read it (`text`), the sample that counts, and all
    samples in order."""
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
    said = f"correct on {count}" if sample.correct else f"not correct on at least one of {sample.count}"
    said += f" fresh instances (seed {one_line(sample.seed, 40)})"
    proven = ", overfitting not proven" if whole and sample.correct else ""
    doubt = proven if sample.overfitted is None else ", overfitted"
    tally = f"{sample.better} better, {sample.equal} equal and {sample.worse} worse than the initial program"
    return f"{said}{doubt}, {tally}"


def _decimals(value: float | None, decimals: int) -> str:
    if value is not None and abs(value) >= HUGE:
        return f"{value:.7g}"
    return "-" if value is None else f"{round(value, decimals) + 0.0:.{decimals}f}"  # a zero has no sign
