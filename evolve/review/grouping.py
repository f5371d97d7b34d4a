"""Runs that are compared: who scored them, and which differ in their seeds alone.

Values of different suites or evaluators are no values of one thing: runs of each are compared among themselves.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase
from typing import Any, Final

from evaluator.objective import SCORE_ITSELF, Objective
from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.core.errors import InputError
from evolve.review.curves import AXES, CurvePoint, curve, spent_on
from evolve.review.doubts import against_best, why_overfitted
from evolve.review.run_facts import flat
from evolve.search.stopping import StopReason
from evolve.trust import stored_config

MOST: Final = 500
"""Runs that are compared at once."""
_WIDE: Final = 40  # characters of a label
_OF_THE_JUDGE: Final = ("task", "suite", "evaluator_version", "task_digest")
_IDENTIFIED: Final = ("task", "suite", "initial", "seed")
"""What the record knows better than `run.yaml`, which has paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """What is compared of one run. `name`: of runs that are compared with each other, no two have one. `judge`: who
    scored it; `settings`: all that makes its configuration, but the seed. `value`: that of its best program, None where
    none is correct. `priced`: all that it cost is known. `rescored`: another judge scored at first (see `curves`)."""

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
    rescored: bool = False
    solved: bool = False  # at the ceiling, for good: whatever it would have been given, its value stays
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its keys in `evolve compare --json`; `curve`: where its best value changed, and its end."""
        before = (None, *(point.value for point in self.points))
        reached = [point for point, value in zip(self.points, before, strict=False) if point.value != value]
        told = [*reached, *self.points[-1:]]
        names = ("priced", "seed", "value", "generation", "held_out", "overfitted", "warnings")
        ended_with = {name: getattr(self, name) for name in names}
        took = {axis: spent_on(self.points, axis) for axis in AXES}
        curve = [[*(getattr(point, axis) for axis in AXES), point.value] for point in told]
        return {"run": self.name} | ended_with | took | {"curve": curve}


def read_run(name: str, archive: RunReader) -> ComparedRun:
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
        source="" if best is None else archive.source(best),
        rescored=any(record is None for _, record in archive.reigns),
        solved=archive.finished == StopReason.CEILING,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs of one configuration: they differ in their seeds alone. `label`: what no other group is called, among all
    that are compared."""

    label: str
    runs: tuple[ComparedRun, ...]

    @property
    def best(self) -> ComparedRun | None:
        """The run with the best program; None where no run has a correct one."""
        known = [run for run in self.runs if run.value is not None]
        return max(known, key=lambda run: run.objective.direction.sign * (run.value or 0.0), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTogether:
    """Groups of runs that one judge scored, on one suite, by one metric: what may be compared."""

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
    """The runs by who scored them, and then by configuration, in the order in which they were named; groups are called
    by their runs' names, where these are `<name>-s<seed>` as in an experiment, else A, B, ... Raises InputError for
    fewer than two, more than MOST, or one run named twice (a copy is the same)."""
    runs = list(runs)
    if not 2 <= len(runs) <= MOST:
        raise InputError(f"{len(runs)} run{'s' * (len(runs) != 1)} to compare: name at least two, and at most {MOST}")
    if (twice := counted_twice(runs)) is not None:
        raise InputError(f"{are_one(*twice)}: name each once, or it would count twice")
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
    """Each name in one line, of a long one head and tail; what would read like one before it has a number."""
    half = _WIDE // 2
    found: list[str] = []
    for name in names:
        text = one_line(name, len(name))
        label = short = text if len(text) <= _WIDE else f"{text[: half - 1]}…{text[-half:]}"
        number = 1
        while label in found:
            number += 1
            label = f"{short} ({number})"
        found.append(label)
    return found


def _scored_by(run: ComparedRun, among: Sequence[ComparedRun]) -> tuple[tuple[str, str], ...]:
    """Who scored a run, and in what: values of two metrics are no values of one thing, whoever scored them. One in
    which nothing has ended yet has the metric of the first other that the same judge scored."""
    alike = (other for other in among if other.points and other.judge == run.judge)
    shown = (run if run.points else next(alike, run)).objective
    return (*run.judge, ("metric", shown.metric), ("direction", shown.direction.value))


def counted_twice(runs: Sequence[ComparedRun]) -> tuple[ComparedRun, ComparedRun] | None:
    """The first two that are one run (its folder, and so its name, or a copy, which has its id), if there are any."""
    for one, other in combinations(runs, 2):
        if one.name == other.name or (one.run_id is not None and one.run_id == other.run_id):
            return one, other
    return None


def are_one(one: ComparedRun, other: ComparedRun) -> str:
    """That two runs are one, in words."""
    return f"{one_line(one.name, 80)} and {one_line(other.name, 80)} are one run"


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
    what = ", ".join(_differing(judged))
    return f"These runs were not scored alike ({what}): their values are never averaged, and stand apart below."


def _differing(judged: Sequence[JudgedTogether]) -> list[str]:
    """What of the judges is not the same for all runs, what decides the rest first."""
    return [key.replace("_", " ") for key in judged[0].judge if len({one.judge[key] for one in judged}) > 1]


def alike(together: JudgedTogether, judged: Sequence[JudgedTogether]) -> str | None:
    """What runs of one configuration differ in, in a sentence; None where there are several configurations. `judged`:
    all that were named."""
    seeds = {run.seed for run in together.runs}
    if len(together.groups) > 1:
        return None
    if len(together.runs) == 1:
        return f"Not compared: the other runs have another {_differing(judged)[0]}."
    if len(seeds) == 1:
        return "One configuration and one seed: these runs differ in nothing that was set."
    return "One configuration: these runs differ in their seeds alone."


def remarks(together: JudgedTogether) -> list[str]:
    """What a reader must know of the groups before the numbers, a sentence each."""
    found = []
    for group in together.groups:
        ends = Counter((run.seed, run.value) for run in group.runs if run.seed is not None and run.value is not None)
        twice = sorted({seed for (seed, _), times in ends.items() if times > 1})
        if twice:
            which = ", ".join(map(str, twice))
            found.append(
                f"{group.label} counts one result several times: of seed {which}, which ended with equal bests."
            )
        missing = sum(run.value is None for run in group.runs)
        if missing:
            found.append(f"{missing} of {len(group.runs)} runs of {group.label} have no correct program.")
        if any(run.self_judged for run in group.runs):
            found.append(f"the values of {group.label} are self-judged: a program shares the process that scores it.")
        again = sum(run.rescored for run in group.runs)
        if again:
            which = f"{again} of {len(group.runs)} runs of {group.label} had another evaluator at first"
            found.append(f"{which}: until it changed, the best is that of the programs that were scored again.")
        fooled = sum(run.overfitted is not None for run in group.runs)
        if fooled:
            found.append(f"the best of {fooled} of {len(group.runs)} runs of {group.label} is overfitted.")
    return found
