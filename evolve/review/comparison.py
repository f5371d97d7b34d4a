"""Runs side by side: each group's results at equal budgets, pair by pair, and how the best programs differ."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.review import statistics
from evolve.review.curves import AXES, spent_on, value_within
from evolve.review.grouping import ComparedRun, JudgedTogether, alike, differences, remarks, why_not_comparable
from evolve.review.scores import value_text
from evolve.review.statistics import LEAST, PairedCounts
from evolve.review.texts import duration_text, unified_diff

_SHARES: Final = (0.25, 0.5, 1.0)
_GRID: Final = 60  # points of a band
_MINUTE: Final = 60


def common_budget(runs: Sequence[ComparedRun], axis: str) -> float:
    """The budget that every run has used along an axis. A run at its ceiling sets no limit: no further budget can
    improve it, so its value is carried on."""
    spent = [spent_on(run.points, axis) for run in runs]
    going_on = [far for run, far in zip(runs, spent, strict=True) if not run.solved]
    return min(going_on, default=max(spent))


def cuts(together: JudgedTogether) -> list[dict[str, Any]]:
    """The groups at equal budgets: for each axis a quarter, a half and all of the budget of `common_budget`. Left out
    are dollars where a price is unknown, times below a minute, which depend on the machine more than on the search, and
    an axis along which a run did not move. `label`: the budget in words."""
    standings = []
    for axis in AXES:
        if axis == "usd" and not all(run.priced for run in together.runs):
            continue
        common = common_budget(together.runs, axis)
        if axis == "seconds" and common < _MINUTE:
            continue
        budgets = (common * share for share in _SHARES)
        whole = (float(int(budget)) if axis in ("attempts", "tokens") else budget for budget in budgets)
        for budget in dict.fromkeys(budget for budget in whole if budget > 0):
            values = [[value_within(run.points, axis, budget) for run in group.runs] for group in together.groups]
            named = {"axis": axis, "budget": budget, "label": _budget(axis, budget)}
            standings.append(named | _standing(together, values))
    return standings


def _budget(axis: str, budget: float) -> str:
    if axis == "usd":
        return f"{budget:.4f} USD"
    if axis == "seconds":
        return (f"{budget:.1f} s" if budget < _MINUTE else duration_text(budget)) + " of work"
    unit = {"attempts": "proposals"}.get(axis, axis)
    return f"{budget:,.0f} {unit.removesuffix('s') if budget == 1 else unit}"


def finals(together: JudgedTogether) -> dict[str, Any]:
    """The groups by each run's final best, at any cost."""
    values = [[run.value for run in group.runs] for group in together.groups]
    return {"label": "at the end"} | _standing(together, values)


def sentences(budget_cuts: Sequence[Mapping[str, Any]], end: Mapping[str, Any]) -> list[str]:
    """The result of each pair of groups at the largest equal budget of each axis in `cuts`, and at the end."""
    last = {cut["axis"]: cut for cut in budget_cuts}
    return [*_tested(last.values()), *(f"{end['label']}: {pair['sentence']}" for pair in end["pairs"])]


def smaller_sentences(budget_cuts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The result of each pair of groups at a quarter and at a half of these budgets."""
    last = {cut["axis"]: cut["budget"] for cut in budget_cuts}
    return _tested(cut for cut in budget_cuts if cut["budget"] != last[cut["axis"]])


def _tested(budget_cuts: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each pair that a test could be made of."""
    return [f"{cut['label']}: {pair['sentence']}" for cut in budget_cuts for pair in cut["pairs"] if pair["test"]]


def _standing(together: JudgedTogether, values: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """Each group with its median and best, and each pair of groups."""
    labels = [group.label for group in together.groups]
    sign = together.objective.direction.sign
    samples = list(zip(labels, values, strict=True))
    groups = [{"label": label} | _summary(sample, sign) for label, sample in samples]
    pairs = [_pair(*first, *second, sign) for first, second in combinations(samples, 2)]
    return {"groups": groups, "pairs": pairs}


def _summary(values: Sequence[float | None], sign: int) -> dict[str, Any]:
    present = [value for value in values if value is not None]
    whole = present if len(present) == len(values) else []  # a missing value has no rank
    interval = statistics.median_interval(whole) if whole else None
    return {
        "values": list(values),
        "median": statistics.median(whole) if whole else None,
        "interval": interval
        and {"low": interval.low, "high": interval.high, "level": float(interval.level), "exact": str(interval.level)},
        "best": max(present, key=lambda value: sign * value, default=None),
    }


def _pair(
    first: str, ours: Sequence[float | None], second: str, theirs: Sequence[float | None], sign: int
) -> dict[str, Any]:
    samples = [[value for value in values if value is not None] for values in (ours, theirs)]
    lacking = len(samples[0]) < len(ours) or len(samples[1]) < len(theirs)
    counts = None if lacking else statistics.compare(*samples, sign=sign)
    if counts is None:
        sentence = f"{first} and {second}: no significance test, since a run has no correct program by then."
        if not lacking:
            ahead = _ahead(first, second, *statistics.pair_counts(*samples, sign=sign))
            why = f"a significance test needs {LEAST} runs per group ({first}: {len(ours)}, {second}: {len(theirs)})"
            sentence = f"{ahead}; not settled: {why}."
        return {"first": first, "second": second, "test": None, "sentence": sentence}
    tally = {name: getattr(counts, name) for name in ("better", "equal", "worse", "pairs")}
    method = "exact" if counts.exact else "approximate"
    whole = str(counts.p) if counts.exact else None
    test = tally | {"p": float(counts.p), "method": method, "exact": whole, "settled": counts.settled}
    return {"first": first, "second": second, "test": test, "sentence": pair_sentence(first, second, counts)}


def pair_sentence(first: str, second: str, counts: PairedCounts) -> str:
    """`B is better than A in 83 of 100 pairs; exact test p = 0.011: settled.`"""
    end = "settled" if counts.settled else "not settled"
    test = f"{'exact' if counts.exact else 'approximate'} test"
    ahead = _ahead(first, second, counts.better, counts.equal, counts.worse)
    return f"{ahead}; {test} p = {float(counts.p):.2g}: {end}."


def _ahead(first: str, second: str, better: int, equal: int, worse: int) -> str:
    """Which of two is ahead, and in how many pairs."""
    who, than, wins = (second, first, better) if better >= worse else (first, second, worse)
    pairs = f"{better + equal + worse} {'pair' if better + equal + worse == 1 else 'pairs'}"
    if not wins:
        return f"{first} and {second} are equal in {equal} of {pairs}"
    ties = f", equal in {equal}" if equal else ""
    return f"{who} is better than {than} in {wins} of {pairs}{ties}"


def bands(together: JudgedTogether) -> list[dict[str, Any]]:
    """For each axis and group of at least LEAST runs, the median of the best values with its interval, up to the
    group's common budget: `x`, `median`, `low`, `high` of equal length, None while a run has no correct program."""
    bands_json = []
    for axis in AXES:
        for group in together.groups:
            end = common_budget(group.runs, axis)
            if len(group.runs) < LEAST or not end or (axis == "usd" and not all(run.priced for run in group.runs)):
                continue
            bands_json.append({"axis": axis, "label": group.label} | _band(group.runs, axis, end))
    return bands_json


def _band(runs: Sequence[ComparedRun], axis: str, end: float) -> dict[str, list[float | None]]:
    band: dict[str, list[float | None]] = {name: [] for name in ("x", "median", "low", "high")}
    for x in (end * step / _GRID for step in range(_GRID + 1)):
        at = _summary([value_within(run.points, axis, x) for run in runs], 1)
        interval = at["interval"] or {"low": None, "high": None}
        for name, value in (("x", x), ("median", at["median"]), ("low", interval["low"]), ("high", interval["high"])):
            band[name].append(value)
    return band


def final_diffs(together: JudgedTogether) -> list[dict[str, Any]]:
    """The unified diff from the best program of the first group to that of each other group."""
    first = together.groups[0].best
    diffs_json = []
    for group in together.groups[1:]:
        best = group.best
        if first is not None and best is not None:
            names = [_program_name(together.groups[0].label, first), _program_name(group.label, best)]
            diff = unified_diff(first.source, best.source, *names)
            diffs_json.append({"first": together.groups[0].label, "second": group.label, "names": names, "diff": diff})
    return diffs_json


def _program_name(label: str, run: ComparedRun) -> str:
    return f"{label}: {one_line(run.name, 80)}, generation {run.generation} ({value_text(run.value)})"


def comparison_json(judged: Sequence[JudgedTogether]) -> dict[str, Any]:
    """The whole comparison, for `evolve compare --json` and the page."""
    return {"apart": why_not_comparable(judged), "judges": [_judge_json(together, judged) for together in judged]}


def _judge_json(together: JudgedTogether, judged: Sequence[JudgedTogether]) -> dict[str, Any]:
    groups = [{"label": group.label, "runs": [run.to_json() for run in group.runs]} for group in together.groups]
    budget_cuts, end = cuts(together), finals(together)
    return {
        "judge": dict(together.judge),
        "objective": together.objective.to_json(),
        "bound": next((run.bound for run in together.runs if run.bound is not None), None),
        "remarks": remarks(together),
        "alike": alike(together, judged),
        "differences": differences(together.groups),
        "groups": groups,
        "sentences": sentences(budget_cuts, end),
        "smaller_sentences": smaller_sentences(budget_cuts),
        "finals": end,
        "cuts": budget_cuts,
        "bands": bands(together),
        "diffs": final_diffs(together),
    }
