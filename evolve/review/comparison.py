"""Runs side by side: grouped by equal configuration but for the seed, at equal budgets, and told apart by what differs.

Values of different suites or evaluators are no values of one thing: runs of each are compared among themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase
from typing import Any, Final

from evaluator.objective import SCORE_ITSELF, Objective
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.errors import InputError
from evolve.review import statistics
from evolve.review.catalogue import why_overfitted
from evolve.review.curves import AXES, CurvePoint, curve, spent_on, value_within
from evolve.review.difference import unified_diff
from evolve.review.run_facts import flat
from evolve.review.scores import value_text
from evolve.review.statistics import LEAST, MedianInterval, PairedCounts
from evolve.trust import stored_config

MOST: Final = 500
"""Runs that are compared at once."""
_SHARES: Final = (0.25, 0.5, 1.0)
_GRID: Final = 60  # points of a band
_OF_THE_JUDGE: Final = ("task", "suite", "evaluator_version", "task_digest")
_IDENTIFIED: Final = (
    "task",
    "suite",
    "initial",
    "seed",
)
"""What the record knows better than `run.yaml`, which has paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """What is compared of one run. `judge`: who scored it; `settings`: all that makes its configuration, but the seed.
    `value`: that of its best program, None where none is correct. `priced`: all that it cost is known."""

    name: str
    run_id: str | None
    judge: tuple[tuple[str, str], ...]
    settings: Mapping[str, Any]
    seed: int | None
    objective: Objective
    points: Sequence[CurvePoint]
    value: float | None
    bound: float | None
    generation: int | None
    held_out: float | None
    overfitted: str | None
    self_judged: bool
    priced: bool
    source: str

    def to_json(self) -> dict[str, Any]:
        """Its keys in `evolve compare --json`; `curve`: where its best value changed, and its end."""
        before = (None, *(point.value for point in self.points))
        reached = [point for point, value in zip(self.points, before, strict=False) if point.value != value]
        told = [*reached, *self.points[-1:]]
        names = ("seed", "value", "generation", "held_out", "overfitted")
        return {
            "run": self.name,
            **{name: getattr(self, name) for name in names},
            **{axis: spent_on(self.points, axis) for axis in AXES},
            "curve": [[*(getattr(point, axis) for axis in AXES), point.value] for point in told],
        }


def read_run(name: str, archive: Archive) -> ComparedRun:
    """What is compared of a run. Raises InputError where its configuration is damaged."""
    best, held_out = archive.best, archive.held_out_of_best
    config = flat(stored_config(archive).model_dump(mode="json"))
    settings = {key: value for key, value in config.items() if key not in _IDENTIFIED}
    identity = archive.identity
    shown = archive.programs[0].objective if archive.programs else SCORE_ITSELF
    return ComparedRun(
        name=name,
        run_id=archive.run_id,
        judge=tuple((key, str(identity.get(key, ""))) for key in _OF_THE_JUDGE),
        settings={"initial": identity.get("initial", ""), **settings},
        seed=identity.get("seed"),
        objective=shown if best is None else best.objective,
        points=curve(archive),
        value=None if best is None else best.value,
        bound=None if best is None else best.value_bound,
        generation=None if best is None else best.generation,
        held_out=None if held_out is None or not held_out.correct else held_out.value,
        overfitted=None if best is None else why_overfitted(archive, best),
        self_judged=any(program.self_judged for program in archive.programs[:1]),
        priced=archive.spent.unpriced == 0,
        source="" if best is None else archive.source(best),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs of one configuration: they differ in their seeds alone."""

    label: str
    runs: tuple[ComparedRun, ...]

    @property
    def best(self) -> ComparedRun | None:
        """The run with the best program; None where no run has a correct one."""
        known = [run for run in self.runs if run.value is not None]
        return max(known, key=lambda run: run.objective.direction.sign * (run.value or 0.0), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTogether:
    """Groups of runs that one judge scored, on one suite: what may be compared."""

    judge: Mapping[str, str]
    groups: tuple[RunGroup, ...]

    @property
    def runs(self) -> list[ComparedRun]:
        """The runs of all groups."""
        return [run for group in self.groups for run in group.runs]

    @property
    def objective(self) -> Objective:
        """The metric, and its direction."""
        return self.groups[0].runs[0].objective


def grouped(runs: Iterable[ComparedRun]) -> list[JudgedTogether]:
    """The runs by who scored them, and then by configuration, in the order in which they were named; groups are called
    A, B, ... Raises InputError for fewer than two, more than MOST, or one run named twice (a copy is the same)."""
    runs = list(runs)
    if not 2 <= len(runs) <= MOST:
        raise InputError(f"{len(runs)} run{'s' * (len(runs) != 1)} to compare: name at least two, and at most {MOST}")
    _require_different(runs)
    by_judge: dict[tuple[tuple[str, str], ...], list[list[ComparedRun]]] = {}
    for run in runs:
        groups = by_judge.setdefault(run.judge, [])
        mine = next((group for group in groups if group[0].settings == run.settings), None)
        if mine is None:
            groups.append([run])
        else:
            mine.append(run)
    labels = (_label(number) for number in range(len(runs)))
    return [
        JudgedTogether(
            judge=dict(judge),
            groups=tuple(RunGroup(label=next(labels), runs=tuple(group)) for group in groups),
        )
        for judge, groups in by_judge.items()
    ]


def _require_different(runs: Sequence[ComparedRun]) -> None:
    for one, other in combinations(runs, 2):
        if one.name == other.name or (one.run_id is not None and one.run_id == other.run_id):
            named = f"{one_line(one.name, 80)} and {one_line(other.name, 80)} are one run"
            raise InputError(f"{named}: name each once, or it would count twice")


def _label(number: int) -> str:
    letters = ""
    while number >= 0:
        letters, number = ascii_uppercase[number % 26] + letters, number // 26 - 1
    return letters


def differences(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """The keys of the configuration whose values are not the same in all groups: what each has, by its label."""
    keys = dict.fromkeys(key for group in groups for key in group.runs[0].settings)
    found = []
    for key in keys:
        values = {group.label: group.runs[0].settings.get(key) for group in groups}
        if any(value != values[groups[0].label] for value in values.values()):
            found.append({"key": key, "values": values})
    return found


def told_apart(judged: Sequence[JudgedTogether]) -> str | None:
    """Why not all runs are compared with each other; None where they are."""
    if len(judged) == 1:
        return None
    differing = [key for key in _OF_THE_JUDGE if len({one.judge[key] for one in judged}) > 1]
    what = ", ".join(key.replace("_", " ") for key in differing)
    return f"These runs were not scored alike ({what}): their values are never averaged, and stand apart below."


def remarks(together: JudgedTogether) -> list[str]:
    """What a reader must know of the groups before the numbers, a sentence each."""
    found = []
    for group in together.groups:
        seeds = [run.seed for run in group.runs]
        twice = sorted({seed for seed in seeds if seed is not None and seeds.count(seed) > 1})
        if twice:
            which = ", ".join(map(str, twice))
            found.append(f"{group.label} has several runs of seed {which}: without chance, that is one value.")
        missing = sum(run.value is None for run in group.runs)
        if missing:
            found.append(f"{missing} of {len(group.runs)} runs of {group.label} have no correct program.")
        if any(run.self_judged for run in group.runs):
            found.append(f"the values of {group.label} are self-judged: a program shares the process that scores it.")
        fooled = sum(run.overfitted is not None for run in group.runs)
        if fooled:
            found.append(f"the best of {fooled} of {len(group.runs)} runs of {group.label} is overfitted.")
    return found


def cuts(together: JudgedTogether) -> list[dict[str, Any]]:
    """The groups at equal budgets: for each axis a quarter, a half and all of what every run got to. No dollars where
    a price is not known, and no axis along which a run did not move."""
    found = []
    for axis in AXES:
        if axis == "usd" and not all(run.priced for run in together.runs):
            continue
        common = min(spent_on(run.points, axis) for run in together.runs)
        budgets = (common * share for share in _SHARES)
        whole = (float(int(budget)) if axis in ("attempts", "tokens") else budget for budget in budgets)
        for budget in dict.fromkeys(budget for budget in whole if budget > 0):
            values = [[value_within(run.points, axis, budget) for run in group.runs] for group in together.groups]
            found.append({"axis": axis, "budget": budget, **_standing(together, values)})
    return found


def finals(together: JudgedTogether) -> dict[str, Any]:
    """The groups by what each run ended with, whatever it spent."""
    return _standing(together, [[run.value for run in group.runs] for group in together.groups])


def _standing(together: JudgedTogether, values: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """Each group with its median and best, and each pair of groups."""
    labels = [group.label for group in together.groups]
    sign = together.objective.direction.sign
    by_label = dict(zip(labels, values, strict=True))
    groups = [{"label": label, **_summary(found, sign)} for label, found in by_label.items()]
    pairs = [_pair(a, by_label[a], b, by_label[b], sign) for a, b in combinations(labels, 2)]
    return {"groups": groups, "pairs": pairs}


def _summary(values: Sequence[float | None], sign: int) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    whole = known if len(known) == len(values) else []  # what the missing ones would be worth is not known
    interval = statistics.median_interval(whole) if whole else None
    return {
        "values": list(values),
        "median": statistics.median(whole) if whole else None,
        "interval": None if interval is None else interval_json(interval),
        "best": max(known, key=lambda value: sign * value, default=None),
    }


def interval_json(interval: MedianInterval) -> dict[str, Any]:
    """An interval with its exact level."""
    exact = str(interval.level)
    return {"low": interval.low, "high": interval.high, "level": float(interval.level), "exact": exact}


def _pair(
    first: str, ours: Sequence[float | None], second: str, theirs: Sequence[float | None], sign: int
) -> dict[str, Any]:
    known = [[value for value in values if value is not None] for values in (ours, theirs)]
    lacking = len(known[0]) < len(ours) or len(known[1]) < len(theirs)
    found = None if lacking else statistics.compare(*known, sign=sign)
    told = _too_few(first, len(ours), second, len(theirs), lacking=lacking)
    if found is None:
        return {"first": first, "second": second, "test": None, "sentence": told}
    counts = {"better": found.better, "equal": found.equal, "worse": found.worse, "pairs": found.pairs}
    test = {**counts, "p": float(found.p), "exact": str(found.p), "settled": found.settled}
    return {"first": first, "second": second, "test": test, "sentence": pair_sentence(first, second, found)}


def _too_few(first: str, ours: int, second: str, theirs: int, *, lacking: bool) -> str:
    if lacking:
        return f"{first} and {second}: a run has no correct program by then, so there is no test."
    return f"{first} has {ours} and {second} {theirs}: a test takes {LEAST} of each."


def pair_sentence(first: str, second: str, found: PairedCounts) -> str:
    """`B is better in 83 of 100 pairs; exact test p = 0.011: settled.`"""
    who, wins = (second, found.better) if found.better >= found.worse else (first, found.worse)
    equal = f", equal in {found.equal}" if found.equal else ""
    end = "settled" if found.settled else "not settled"
    return f"{who} is better in {wins} of {found.pairs} pairs{equal}; exact test p = {float(found.p):.2g}: {end}."


def bands(together: JudgedTogether) -> list[dict[str, Any]]:
    """For each axis and group of LEAST runs or more, the median of the best values with its interval, as far as every
    run of the group got: `x`, `median`, `low`, `high` of equal length, with None while a run has no correct program."""
    found = []
    for axis in AXES:
        for group in together.groups:
            end = min(spent_on(run.points, axis) for run in group.runs)
            if len(group.runs) < LEAST or not end or (axis == "usd" and not all(run.priced for run in group.runs)):
                continue
            found.append({"axis": axis, "label": group.label, **_band(group.runs, axis, end)})
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
    return {"apart": told_apart(judged), "judges": [_judge_json(together) for together in judged]}


def _judge_json(together: JudgedTogether) -> dict[str, Any]:
    groups = [{"label": group.label, "runs": [run.to_json() for run in group.runs]} for group in together.groups]
    return {
        "judge": dict(together.judge),
        "objective": together.objective.to_json(),
        "bound": next((run.bound for run in together.runs if run.bound is not None), None),
        "remarks": remarks(together),
        "differences": differences(together.groups),
        "groups": groups,
        "finals": finals(together),
        "cuts": cuts(together),
        "bands": bands(together),
        "diffs": final_diffs(together),
    }
