"""Runs side by side: what each group came to at equal budgets, pair by pair, and how their best programs differ."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.review import statistics
from evolve.review.curves import AXES, spent_on, value_within
from evolve.review.grouping import ComparedRun, JudgedTogether, alike, differences, remarks, told_apart
from evolve.review.scores import value_text
from evolve.review.statistics import LEAST, PairedCounts
from evolve.review.texts import duration_text, unified_diff

_SHARES: Final = (0.25, 0.5, 1.0)
_GRID: Final = 60  # points of a band
_MINUTE: Final = 60


def common_budget(runs: Sequence[ComparedRun], axis: str) -> float:
    """How far every run got along an axis. One that is at its ceiling cannot be bettered by any further budget, so
    that it shortens nothing: its value is carried on."""
    spent = [spent_on(run.points, axis) for run in runs]
    going_on = [far for run, far in zip(runs, spent, strict=True) if not run.solved]
    return min(going_on, default=max(spent))


def cuts(together: JudgedTogether) -> list[dict[str, Any]]:
    """The groups at equal budgets: for each axis a quarter, a half and all of what every run got to (see
    `common_budget`). No dollars where a price is not known, no time below a minute, which says more of the machine than
    of the search, and no axis along which a run did not move. `label`: the budget in words."""
    found = []
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
            found.append(named | _standing(together, values))
    return found


def _budget(axis: str, budget: float) -> str:
    if axis == "usd":
        return f"{budget:.4f} USD"
    if axis == "seconds":
        return (f"{budget:.1f} s" if budget < _MINUTE else duration_text(budget)) + " of work"
    unit = {"attempts": "proposals"}.get(axis, axis)
    return f"{budget:,.0f} {unit.removesuffix('s') if budget == 1 else unit}"


def finals(together: JudgedTogether) -> dict[str, Any]:
    """The groups by what each run ended with, whatever it spent."""
    values = [[run.value for run in group.runs] for group in together.groups]
    return {"label": "at the end"} | _standing(together, values)


def sentences(found: Sequence[Mapping[str, Any]], end: Mapping[str, Any]) -> list[str]:
    """How each pair of groups stands, at the largest equal budget of each kind, out of `cuts`, and at the end."""
    last = {cut["axis"]: cut for cut in found}
    return [*_told(last.values()), *(f"{end['label']}: {pair['sentence']}" for pair in end["pairs"])]


def smaller_sentences(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """How they stood at a quarter and at a half of these budgets."""
    last = {cut["axis"]: cut["budget"] for cut in found}
    return _told(cut for cut in found if cut["budget"] != last[cut["axis"]])


def _told(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return [f"{cut['label']}: {pair['sentence']}" for cut in found for pair in cut["pairs"] if pair["test"] is not None]


def _standing(together: JudgedTogether, values: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """Each group with its median and best, and each pair of groups."""
    labels = [group.label for group in together.groups]
    sign = together.objective.direction.sign
    told = list(zip(labels, values, strict=True))
    groups = [{"label": label} | _summary(found, sign) for label, found in told]
    pairs = [_pair(*one, *other, sign) for one, other in combinations(told, 2)]
    return {"groups": groups, "pairs": pairs}


def _summary(values: Sequence[float | None], sign: int) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    whole = known if len(known) == len(values) else []  # what the missing ones would be worth is not known
    interval = statistics.median_interval(whole) if whole else None
    return {
        "values": list(values),
        "median": statistics.median(whole) if whole else None,
        "interval": interval
        and {"low": interval.low, "high": interval.high, "level": float(interval.level), "exact": str(interval.level)},
        "best": max(known, key=lambda value: sign * value, default=None),
    }


def _pair(
    first: str, ours: Sequence[float | None], second: str, theirs: Sequence[float | None], sign: int
) -> dict[str, Any]:
    known = [[value for value in values if value is not None] for values in (ours, theirs)]
    lacking = len(known[0]) < len(ours) or len(known[1]) < len(theirs)
    found = None if lacking else statistics.compare(*known, sign=sign)
    if found is None:
        told = f"{first} and {second}: a run has no correct program by then, so there is no test."
        if not lacking:
            ahead = _ahead(first, second, *statistics.pair_counts(*known, sign=sign))
            why = f"a test takes {LEAST} runs of each ({first}: {len(ours)}, {second}: {len(theirs)})"
            told = f"{ahead}; not settled: {why}."
        return {"first": first, "second": second, "test": None, "sentence": told}
    counts = {name: getattr(found, name) for name in ("better", "equal", "worse", "pairs")}
    method = "exact" if found.exact else "approximate"
    whole = str(found.p) if found.exact else None
    test = counts | {"p": float(found.p), "method": method, "exact": whole, "settled": found.settled}
    return {"first": first, "second": second, "test": test, "sentence": pair_sentence(first, second, found)}


def pair_sentence(first: str, second: str, found: PairedCounts) -> str:
    """`B is better than A in 83 of 100 pairs; exact test p = 0.011: settled.`"""
    end = "settled" if found.settled else "not settled"
    test = f"{'exact' if found.exact else 'approximate'} test"
    ahead = _ahead(first, second, found.better, found.equal, found.worse)
    return f"{ahead}; {test} p = {float(found.p):.2g}: {end}."


def _ahead(first: str, second: str, better: int, equal: int, worse: int) -> str:
    """Which of two is ahead, and in how many pairs."""
    who, than, wins = (second, first, better) if better >= worse else (first, second, worse)
    pairs = f"{better + equal + worse} {'pair' if better + equal + worse == 1 else 'pairs'}"
    if not wins:
        return f"{first} and {second} are equal in {equal} of {pairs}"
    ties = f", equal in {equal}" if equal else ""
    return f"{who} is better than {than} in {wins} of {pairs}{ties}"


def bands(together: JudgedTogether) -> list[dict[str, Any]]:
    """For each axis and group of LEAST runs or more, the median of the best values with its interval, as far as every
    run of the group got: `x`, `median`, `low`, `high` of equal length, with None while a run has no correct program."""
    found = []
    for axis in AXES:
        for group in together.groups:
            end = common_budget(group.runs, axis)
            if len(group.runs) < LEAST or not end or (axis == "usd" and not all(run.priced for run in group.runs)):
                continue
            found.append({"axis": axis, "label": group.label} | _band(group.runs, axis, end))
    return found


def _band(runs: Sequence[ComparedRun], axis: str, end: float) -> dict[str, list[float | None]]:
    band: dict[str, list[float | None]] = {name: [] for name in ("x", "median", "low", "high")}
    for x in (end * step / _GRID for step in range(_GRID + 1)):
        at = _summary([value_within(run.points, axis, x) for run in runs], 1)
        interval = at["interval"] or {"low": None, "high": None}
        for name, value in (("x", x), ("median", at["median"]), ("low", interval["low"]), ("high", interval["high"])):
            band[name].append(value)
    return band


def final_diffs(together: JudgedTogether) -> list[dict[str, Any]]:
    """From the best program of the first group to that of each other group, as unified diffs."""
    first = together.groups[0].best
    found = []
    for group in together.groups[1:]:
        other = group.best
        if first is not None and other is not None:
            names = [_program_name(together.groups[0].label, first), _program_name(group.label, other)]
            diff = unified_diff(first.source, other.source, *names)
            found.append({"first": together.groups[0].label, "second": group.label, "names": names, "diff": diff})
    return found


def _program_name(label: str, run: ComparedRun) -> str:
    return f"{label}: {one_line(run.name, 80)}, generation {run.generation} ({value_text(run.value)})"


def comparison_json(judged: Sequence[JudgedTogether]) -> dict[str, Any]:
    """All of it, for `evolve compare --json` and the page."""
    return {"apart": told_apart(judged), "judges": [_judge_json(together, judged) for together in judged]}


def _judge_json(together: JudgedTogether, judged: Sequence[JudgedTogether]) -> dict[str, Any]:
    groups = [{"label": group.label, "runs": [run.to_json() for run in group.runs]} for group in together.groups]
    found, end = cuts(together), finals(together)
    return {
        "judge": dict(together.judge),
        "objective": together.objective.to_json(),
        "bound": next((run.bound for run in together.runs if run.bound is not None), None),
        "remarks": remarks(together),
        "alike": alike(together, judged),
        "differences": differences(together.groups),
        "groups": groups,
        "sentences": sentences(found, end),
        "smaller_sentences": smaller_sentences(found),
        "finals": end,
        "cuts": found,
        "bands": bands(together),
        "diffs": final_diffs(together),
    }
