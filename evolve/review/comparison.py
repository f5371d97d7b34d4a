"""Runs side by side: grouped by judge and configuration, each group's results at equal budgets, pair by pair.

Values of different suites or evaluators are not comparable: only runs with the same judge are compared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase
from typing import Any, Final

from evaluator.objective import SCORE_ITSELF, Objective
from evaluator.program_files import Files
from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.core.errors import InputError
from evolve.review import statistics
from evolve.review.curves import AXES, CurvePoint, curve, spent_on, value_within
from evolve.review.doubts import against_best, why_overfitted
from evolve.review.run_facts import flat
from evolve.review.scores import value_text
from evolve.review.statistics import LEAST, PairedCounts
from evolve.review.texts import diff_of_files, duration_text
from evolve.search.stopping import StopReason
from evolve.trust import stored_config

MOST: Final = 500
"""The most runs in a comparison."""
_WIDE: Final = 40  # characters of a label
_OF_THE_JUDGE: Final = ("task", "suite", "evaluator_version", "task_digest")
_IDENTIFIED: Final = ("task", "suite", "initial", "seed")
"""Keys taken from the record instead of `run.yaml`, where they may be paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """The comparable facts of one run. `name` is unique within a comparison. `judge`: what scored it; `settings`: its
    configuration but for the seed. `value`: the best program's, None if none is correct. `priced`: its whole cost is
    known. `rescored`: another judge scored at first (see `curves`). `solved`: it is at the ceiling for good, so a
    larger budget would not change its value."""

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
    files: Files | None
    rescored: bool = False
    solved: bool = False
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its keys in `evolve compare --json`; `curve` has the points where its best value changed, and its end."""
        before = (None, *(point.value for point in self.points))
        reached = [point for point, value in zip(self.points, before, strict=False) if point.value != value]
        drawn = [*reached, *self.points[-1:]]
        names = ("priced", "seed", "value", "generation", "held_out", "overfitted", "warnings")
        outcome = {name: getattr(self, name) for name in names}
        took = {axis: spent_on(self.points, axis) for axis in AXES}
        curve = [[*(getattr(point, axis) for axis in AXES), point.value] for point in drawn]
        return {"run": self.name} | outcome | took | {"curve": curve}


def read_run(name: str, archive: RunReader) -> ComparedRun:
    """The comparable facts of a run. Raises InputError if its configuration is damaged."""
    best, held_out = archive.best, archive.held_out_of_best
    config = flat(stored_config(archive).model_dump(mode="json"))
    settings = {key: value for key, value in config.items() if key not in _IDENTIFIED}
    identity = archive.identity
    shown = archive.programs[0].objective if archive.programs else SCORE_ITSELF
    return ComparedRun(
        name=name,
        run_id=archive.run_id,
        judge=tuple((key, str(identity.get(key, ""))) for key in _OF_THE_JUDGE),
        settings={"initial": identity.get("initial", "")} | settings,
        seed=identity.get("seed"),
        objective=shown if best is None else best.objective,
        points=curve(archive),
        value=None if best is None else best.value,
        bound=None if best is None else best.value_bound,
        generation=None if best is None else best.generation,
        held_out=None if held_out is None or not held_out.correct else held_out.value,
        overfitted=None if best is None else why_overfitted(archive, best),
        warnings=tuple(against_best(archive)),
        self_judged=any(program.self_judged for program in archive.programs[:1]),
        priced=archive.spent.unpriced == 0,
        files=None if best is None else archive.files(best),
        rescored=any(record is None for _, record in archive.best_history),
        solved=archive.finished == StopReason.CEILING,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs of one configuration: they differ only in their seeds. `label` is unique within a comparison."""

    label: str
    runs: tuple[ComparedRun, ...]

    @property
    def best(self) -> ComparedRun | None:
        """The run with the best program; None if no run has a correct one."""
        scored = [run for run in self.runs if run.value is not None]
        return max(scored, key=lambda run: run.objective.direction.sign * (run.value or 0.0), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTogether:
    """Comparable groups of runs: scored by one judge, on one suite, by one metric."""

    judge: Mapping[str, str]
    groups: tuple[RunGroup, ...]

    @property
    def runs(self) -> list[ComparedRun]:
        """The runs of all groups."""
        return [run for group in self.groups for run in group.runs]

    @property
    def objective(self) -> Objective:
        """The metric, and its direction."""
        return next((run for run in self.runs if run.points), self.runs[0]).objective


def grouped(runs: Iterable[ComparedRun]) -> list[JudgedTogether]:
    """The runs by judge, and then by configuration, in the given order. Groups are labelled by their runs' names if
    these are `<name>-s<seed>` as in an experiment, else A, B, ... Raises InputError for fewer than two runs, more than
    MOST, or one run named twice (also as a copy)."""
    runs = list(runs)
    if not 2 <= len(runs) <= MOST:
        raise InputError(f"{len(runs)} run{'s' * (len(runs) != 1)} to compare: name at least two, and at most {MOST}")
    if (twice := counted_twice(runs)) is not None:
        raise InputError(f"{are_one(*twice)}: name each run once, or it would count twice")
    by_judge: dict[tuple[tuple[str, str], ...], list[list[ComparedRun]]] = {}
    for run in runs:
        groups = by_judge.setdefault(_scored_by(run, runs), [])
        mine = next((group for group in groups if group[0].settings == run.settings), None)
        if mine is None:
            groups.append([run])
        else:
            mine.append(run)
    labels = iter(_labels([group for groups in by_judge.values() for group in groups]))
    return [
        JudgedTogether(
            judge=dict(judge), groups=tuple(RunGroup(label=next(labels), runs=tuple(group)) for group in groups)
        )
        for judge, groups in by_judge.items()
    ]


def _labels(groups: Sequence[Sequence[ComparedRun]]) -> list[str]:
    stems = [{run.name.removesuffix(f"-s{run.seed}") for run in group} for group in groups]
    named = [stem for names, group in zip(stems, groups, strict=True) for stem in names if stem != group[0].name]
    if all(len(names) == 1 for names in stems) and len(set(named)) == len(groups) and all(map(str.strip, named)):
        return _distinct(named)
    return [_label(number) for number in range(len(groups))]


def _distinct(names: Sequence[str]) -> list[str]:
    """Each name in one line, the middle of a long one cut out; a repeated label gets a number."""
    half = _WIDE // 2
    labels: list[str] = []
    for name in names:
        text = one_line(name, len(name))
        label = short = text if len(text) <= _WIDE else f"{text[: half - 1]}…{text[-half:]}"
        number = 1
        while label in labels:
            number += 1
            label = f"{short} ({number})"
        labels.append(label)
    return labels


def _scored_by(run: ComparedRun, among: Sequence[ComparedRun]) -> tuple[tuple[str, str], ...]:
    """The judge and the metric of a run, since values of two metrics are not comparable. A run in which nothing has
    ended yet takes the metric of the first other run with the same judge."""
    alike = (peer for peer in among if peer.points and peer.judge == run.judge)
    shown = (run if run.points else next(alike, run)).objective
    return (*run.judge, ("metric", shown.metric), ("direction", shown.direction.value))


def counted_twice(runs: Sequence[ComparedRun]) -> tuple[ComparedRun, ComparedRun] | None:
    """The first two entries that are the same run, if any: by name (the same folder) or by run id (a copy)."""
    for first, second in combinations(runs, 2):
        if first.name == second.name or (first.run_id is not None and first.run_id == second.run_id):
            return first, second
    return None


def are_one(first: ComparedRun, second: ComparedRun) -> str:
    """A clause that two entries are the same run."""
    return f"{one_line(first.name, 80)} and {one_line(second.name, 80)} are the same run"


def _label(number: int) -> str:
    letters = ""
    while number >= 0:
        letters, number = ascii_uppercase[number % 26] + letters, number // 26 - 1
    return letters


def differences(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """The configuration keys whose values differ between groups, with each group's value by its label."""
    keys = dict.fromkeys(key for group in groups for key in group.runs[0].settings)
    rows = []
    for key in keys:
        values = {group.label: group.runs[0].settings.get(key) for group in groups}
        if any(value != values[groups[0].label] for value in values.values()):
            rows.append({"key": key, "values": values})
    return rows


def why_not_comparable(judged: Sequence[JudgedTogether]) -> str | None:
    """Why not all runs are compared with each other; None if they are."""
    if len(judged) == 1:
        return None
    differing = ", ".join(_differing(judged))
    return f"These runs were scored differently ({differing}), so they are compared in separate sections below."


def _differing(judged: Sequence[JudgedTogether]) -> list[str]:
    """The keys of the judge that differ between runs, the most decisive first."""
    return [key.replace("_", " ") for key in judged[0].judge if len({together.judge[key] for together in judged}) > 1]


def alike(together: JudgedTogether, judged: Sequence[JudgedTogether]) -> str | None:
    """A sentence about the differences between runs of one configuration; None for several configurations. `judged`:
    all runs of the comparison."""
    seeds = {run.seed for run in together.runs}
    if len(together.groups) > 1:
        return None
    if len(together.runs) == 1:
        return f"Not compared: the other runs have another {_differing(judged)[0]}."
    if len(seeds) == 1:
        return "One configuration and one seed: these runs have the same settings."
    return "One configuration: these runs differ only in their seeds."


def remarks(together: JudgedTogether) -> list[str]:
    """Warnings about the groups, a sentence each, to read before the numbers."""
    sentences = []
    for group in together.groups:
        ends = Counter((run.seed, run.value) for run in group.runs if run.seed is not None and run.value is not None)
        twice = sorted({seed for (seed, _), times in ends.items() if times > 1})
        if twice:
            seeds = ", ".join(map(str, twice))
            sentences.append(f"{group.label} counts a result several times: seed {seeds} ended with equal bests.")
        missing = sum(run.value is None for run in group.runs)
        if missing:
            sentences.append(f"{missing} of {len(group.runs)} runs of {group.label} have no correct program.")
        if any(run.self_judged for run in group.runs):
            sentences.append(f"The values of {group.label} are self-judged: a program shares the scoring process.")
        rescored = sum(run.rescored for run in group.runs)
        if rescored:
            subject = f"{rescored} of {len(group.runs)} runs of {group.label} had another evaluator at first"
            sentences.append(f"{subject}: until the change, their curve shows the best of the rescored programs.")
        overfitted = sum(run.overfitted is not None for run in group.runs)
        if overfitted:
            sentences.append(f"The best of {overfitted} of {len(group.runs)} runs of {group.label} is overfitted.")
    return sentences


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
        if first is not None and best is not None and first.files is not None and best.files is not None:
            names = [_program_name(together.groups[0].label, first), _program_name(group.label, best)]
            diff = diff_of_files(first.files, best.files, *names)
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
