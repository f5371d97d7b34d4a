"""The tables of `programs/README.md`, drawn from `programs/measured.json`, which `docs/tables.py` writes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

DATA: Final = Path(__file__).resolve().parent.parent / "programs" / "measured.json"
NOT_MEASURED: Final = "not measured"
OURS: Final = "our own"
"""How the source of a value begins that this project made itself."""


def drawn(task: str) -> str:
    """The table of a task, and where its best known values and its offline runs come from."""
    measured = json.loads(DATA.read_text(encoding="utf-8"))[task]
    suites = measured["suites"]
    if not suites:
        return "Nothing of it is measured yet.\n"
    programs = list(next(iter(suites.values()))["programs"])
    titles = ["suite", *(name.replace("_", " ") for name in programs), "offline search", "best known", "bound"]
    lines = [f"{_objective(measured['objective'])}", "", f"| {' | '.join(titles)} |"]
    lines.append(f"|---|{'---:|' * (len(titles) - 1)}")
    for name, suite in suites.items():
        runs = suite["offline"] if suite["held_out_for"] == [] else _of_the_twin(name, suites)
        cells = [f"`{name}`" + (", twin" if suite["held_out_for"] else "")]
        cells += [_program(suite["programs"][program], suite) for program in programs]
        cells += [_runs(runs), _best_known(suite["best_known"]), _bound(suite)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *_sources(suites), *_cost_of_runs(suites, measured["ingredients"])]
    return "\n".join(lines).rstrip() + "\n"


def families(task: str) -> str:
    """The tables of complete programs, one for each suite and its twin."""
    suites = json.loads(DATA.read_text(encoding="utf-8"))[task]["suites"]
    parts = []
    for name, suite in suites.items():
        if suite["held_out_for"] == [] and "families" in suite:
            twins = [twin for twin, other in suites.items() if name in other["held_out_for"] and "families" in other]
            parts.append(_complete({name: suite} | {twin: suites[twin] for twin in twins}))
    return "\n".join(parts) or "Nothing of it is measured yet.\n"


def _complete(suites: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of one suite and its twin: the best programs first."""
    columns = ["score", "gap", "optimality", "answered", "CPU"]
    titles = [
        "program",
        *(f"`{name}`: {columns[0]}" if n == 0 else title for name in suites for n, title in enumerate(columns)),
    ]
    lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
    first = next(iter(suites.values()))["families"]
    for program in sorted(first, key=lambda name: (-first[name]["score"], name)):
        cells = [f"`{program}`"]
        for suite in suites.values():
            cells += _cells(suite["families"].get(program), suite["instances"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(found: Mapping[str, Any] | None, instances: int) -> list[str]:
    """Score, gap to the ceiling in percent of it, optimality, instances answered, seconds of CPU a call."""
    if found is None:
        return [NOT_MEASURED, *[""] * 4]
    gap = 100 * (1 - found["score"] / found["ceiling"])
    return [
        number(found["score"]),
        f"{max(gap, 0.0):.3f} %",
        f"{found['optimality']:.5f}",
        f"{found['answered']} of {instances}",
        f"{found['cpu_s']:.2g} s",
    ]


def number(value: float) -> str:
    """A value with six significant digits at most."""
    return f"{value:.6g}"


def _objective(objective: Mapping[str, str]) -> str:
    unit = f" ({objective['unit']})" if objective["unit"] else ""
    better = "larger" if objective["direction"] == "maximise" else "smaller"
    return f"`{objective['metric']}`{unit}, {better} is better."


def _program(found: Mapping[str, Any], suite: Mapping[str, Any]) -> str:
    """A value, or on how many instances a program fails."""
    return f"fails {found['failed']} of {suite['instances']}" if found["failed"] else number(found["value"])


def _of_the_twin(twin: str, suites: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]] | list[dict[str, Any]]:
    """What the bests of the runs score on their twin; by suite where it is the twin of several."""
    by_suite = {
        name: [
            {"value": run["twin"] and run["twin"]["value"], "overfitted": run["overfitted"]}
            for run in suites[name]["offline"]
            if run["twin"] is not None or run["value"] is None  # the twin is not asked where nothing is correct
        ]
        for name in suites[twin]["held_out_for"]
    }
    return by_suite if len(by_suite) > 1 else next(iter(by_suite.values()))


def _runs(runs: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """The median of the runs, and their range; where one has no correct program, each of them."""
    if isinstance(runs, Mapping):
        return "; ".join(f"of `{name}`: {_runs(some)}" for name, some in runs.items())
    if not runs:
        return NOT_MEASURED
    values = [run["value"] for run in runs]
    if all(value is None for value in values):
        said = "no correct program"
    elif None in values:
        said = ", ".join("fails" if value is None else number(value) for value in values)
    elif len(values) == 1:
        said = f"{number(values[0])} (one seed)"
    elif number(min(values)) == number(max(values)):
        said = f"{number(median(values))} ({len(values)} seeds)"
    else:
        said = f"{number(median(values))} ({number(min(values))} to {number(max(values))})"
    overfitted = sum(run["overfitted"] for run in runs)
    return f"{said}, {overfitted} overfitted" if overfitted else said


def _best_known(best: Mapping[str, Any] | None) -> str:
    if best is None:
        return "none listed"
    return f"{number(best['value'])}{' (ours)' if best['source'].startswith(OURS) else ''}"


def _bound(suite: Mapping[str, Any]) -> str:
    if suite["bound"] is None:
        return "none"
    return number(suite["bound"]) + (", optimum" if suite["proven"] == suite["instances"] else "")


def _sources(suites: Mapping[str, Any]) -> list[str]:
    """Where the best known values come from, one line for each source."""
    by_source: dict[str, list[str]] = {}
    for name, suite in suites.items():
        if suite["best_known"] is not None:
            by_source.setdefault(suite["best_known"]["source"], []).append(f"`{name}`")
    return [f"- Best known, {', '.join(names)}: {source}." for source, names in by_source.items()]


def _cost_of_runs(suites: Mapping[str, Any], ingredients: str) -> list[str]:
    """What the offline runs took, one line for each suite."""
    lines = []
    for name, suite in suites.items():
        runs = suite["offline"]
        if not runs:
            continue
        programs, flights = _range([run["programs"] for run in runs]), _range([run["parallel"] for run in runs])
        early = sum(run["finished"] != "generations" for run in runs)
        line = (
            f"- Offline search, `{name}`: {len(runs)} run{'s' * (len(runs) > 1)}, {programs} programs scored, "
            f"{flights} in flight, {median(run['cpu_s'] for run in runs):.0f} s of CPU a run"
        )
        if early:
            line += f"; {early} ended early, at the proven optimum"
        if any(run["ingredients"] != ingredients for run in runs):
            line += "; with ingredients other than the present ones"
        lines.append(f"{line}.")
    return lines


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
