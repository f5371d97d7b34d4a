"""What an experiment is: its file read, held against what has begun already, and unfolded into runs."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evaluator.yaml_file import read_mapping
from evolve.config import Config, build_config, keys, set_key
from evolve.errors import InputError
from evolve.files import read_text, write_file
from evolve.review.runs import RUNS

PLAN: Final = "experiment.json"
"""The plan of an experiment in its folder: what its runs were begun with."""
MOST_RUNS: Final = 2000
MOST_ATTEMPTS: Final = 1_000_000
"""So many generations a run has at most, where only dollars end it."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
_KEYS: Final = ("name", "base", "configurations", "seeds", "budget")
_BUDGETS: Final = {"attempts": "generations", "usd": "budget_usd"}
_OF_THE_EXPERIMENT: Final = ("seed", "generations", "budget_usd", "minutes")
_OF_THE_BASE: Final = (*_OF_THE_EXPERIMENT, "task", "suite")
_ONE_AT_A_TIME: Final = {"parallel": 1, "workers": 1}  # repeatable, and as many runs at once as there are cores


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run of an experiment: its configuration by name, and where it is kept."""

    configuration: str
    seed: int
    folder: Path
    config: Config

    @property
    def shown(self) -> str:
        """What lines on a terminal call it."""
        return f"{self.configuration}, seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Configurations (by name, as they were written), each to be run with every seed at one budget: `attempts`,
    dollars, or both, None where there is no such limit."""

    name: str
    base: Mapping[str, Any]
    configurations: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    attempts: int | None
    usd: float | None

    @property
    def folder(self) -> Path:
        """Where its runs are kept."""
        return RUNS / self.name

    def runs(self) -> list[PlannedRun]:
        """Every run, seed by seed, so that what is done so far can be compared at any time.

        Raises InputError for a configuration that cannot be, or two that are one.
        """
        by_name = {name: self._config(name, self.seeds[0]) for name in self.configurations}
        for name, config in by_name.items():
            twin = next(other for other, theirs in by_name.items() if theirs == config)
            if twin != name:
                raise InputError(f"configurations.{name}: is the same as {twin}, so there is nothing to compare")
        return [
            PlannedRun(
                configuration=name, seed=seed, folder=self.folder / f"{name}-s{seed}", config=self._config(name, seed)
            )
            for seed in self.seeds
            for name in self.configurations
        ]

    def _config(self, name: str, seed: int) -> Config:
        document: dict[str, Any] = dict(_ONE_AT_A_TIME)
        for settings in (self.base, self.configurations[name]):
            for key, value in settings.items():
                set_key(document, key, value)
        document |= {"seed": seed, "generations": self.attempts or MOST_ATTEMPTS, "budget_usd": self.usd}
        return build_config(document, origin=f"configurations.{name}", look_up=True)

    def to_json(self) -> dict[str, Any]:
        """As it is kept in the folder; `from_json` is the inverse."""
        budget = {"attempts": self.attempts, "usd": self.usd}
        return {
            "name": self.name,
            "base": dict(self.base),
            "configurations": {name: dict(settings) for name, settings in self.configurations.items()},
            "seeds": list(self.seeds),
            "budget": {key: value for key, value in budget.items() if value is not None},
        }


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file. Raises InputError that names the file, the key and what was expected."""
    return _plan(read_mapping(path, error=InputError), origin=str(path), default_name=path.stem)


def settle(plan: Plan) -> None:
    """Note in the folder what its runs are begun with. Where it holds an experiment already, that must be this one: it
    may have got more configurations, more seeds or a larger budget since. Raises InputError otherwise."""
    file = plan.folder / PLAN
    if file.exists():
        try:
            before = _plan(json.loads(read_text(file)), origin=str(file), default_name=plan.name)
        except ValueError:
            raise InputError(f"{file}: is damaged; give the experiment another `name`") from None
        _require_continuation(before, plan, file)
    elif plan.folder.exists() and any(plan.folder.iterdir()):
        raise InputError(f"{plan.folder} exists and holds no experiment; give this one another `name`")
    plan.folder.mkdir(parents=True, exist_ok=True)
    write_file(file, (json.dumps(plan.to_json(), indent=2, sort_keys=True) + "\n").encode(), overwrite=True)


def _require_continuation(before: Plan, now: Plan, file: Path) -> None:
    changed = ["base"] * (before.base != now.base)
    for name, settings in before.configurations.items():
        changed += [f"configurations.{name}"] * (now.configurations.get(name) != settings)
    changed += ["seeds"] * (not set(before.seeds) <= set(now.seeds))
    changed += ["budget.attempts"] * _is_less(now.attempts, before.attempts)
    changed += ["budget.usd"] * _is_less(now.usd, before.usd)
    if changed:
        raise InputError(
            f"{', '.join(changed)}: not what the runs in {file.parent} were begun with (see {file.name} there); put it "
            "back, or give the experiment another `name`. More seeds, more configurations or a larger budget may come"
        )


def _is_less(now: float | None, before: float | None) -> bool:
    return now is not None and (before is None or now < before)


# -- reading ---------------------------------------------------------------------------------------------------------


def _plan(document: Mapping[str, Any], *, origin: str, default_name: str) -> Plan:
    unknown = [key for key in document if key not in _KEYS]
    if unknown:
        raise InputError(f"{origin}: unknown key {one_line(unknown[0], 60)!r} (known keys: {', '.join(_KEYS)})")
    name = document.get("name", default_name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"{origin}: name {one_line(str(name), 60)!r} must be a plain folder name: letters, digits, '_', '-' and "
            "'.', at most 60"
        )
    base = _settings(document.get("base", {}), f"{origin}: base", refused=_OF_THE_EXPERIMENT)
    configurations = document.get("configurations")
    if not isinstance(configurations, dict) or not configurations:
        raise InputError(f"{origin}: configurations must map a name to its settings, one at least")
    bad = [key for key in configurations if not isinstance(key, str) or not _NAME.fullmatch(key)]
    if bad:
        raise InputError(f"{origin}: configurations: the name {one_line(str(bad[0]), 60)!r} is no plain folder name")
    attempts, usd = _budget(document.get("budget"), origin)
    seeds = _seeds(document.get("seeds", 5), origin)
    if len(seeds) * len(configurations) > MOST_RUNS:
        raise InputError(f"{origin}: {len(seeds) * len(configurations)} runs; at most {MOST_RUNS} make an experiment")
    return Plan(
        name=name,
        base=base,
        configurations={
            key: _settings(value, f"{origin}: configurations.{key}", refused=_OF_THE_BASE)
            for key, value in configurations.items()
        },
        seeds=seeds,
        attempts=attempts,
        usd=usd,
    )


def _settings(value: Any, where: str, *, refused: Sequence[str]) -> Mapping[str, Any]:
    """Keys of a run's configuration, dotted or nested, as dotted keys."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a mapping of configuration keys to values")
    sections = {key.partition(".")[0] for key in keys() if "." in key and not key.startswith("models.")}
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        nested = isinstance(inner, dict) and key in sections
        flat |= _flattened(str(key), inner) if nested else {str(key): inner}
    for key in refused:
        if key in flat:
            raise InputError(f"{where}.{key}: every run of an experiment has the same; {_INSTEAD[key]}")
    return flat


_INSTEAD: Final = {
    "seed": "`seeds` says which",
    "generations": "`budget.attempts` says how many",
    "budget_usd": "`budget.usd` says how much",
    "minutes": "minutes are no equal budget; `budget` says attempts or dollars",
    "task": "it belongs into `base`",
    "suite": "it belongs into `base`",
}


def _flattened(prefix: str, value: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        dotted = f"{prefix}.{key}"
        flat |= _flattened(dotted, inner) if isinstance(inner, dict) else {dotted: inner}
    return flat


def _budget(value: Any, origin: str) -> tuple[int | None, float | None]:
    said = "budget must hold `attempts` (a whole number), `usd`, or both: what each run may use"
    if not isinstance(value, dict) or not value or not set(value) <= set(_BUDGETS):
        raise InputError(f"{origin}: {said}")
    attempts, usd = value.get("attempts"), value.get("usd")
    if attempts is not None and (type(attempts) is not int or not 1 <= attempts <= MOST_ATTEMPTS):
        raise InputError(f"{origin}: budget.attempts must be a whole number from 1 to {MOST_ATTEMPTS}")
    if usd is not None and (type(usd) not in (int, float) or not 0 < usd < float("inf")):
        raise InputError(f"{origin}: budget.usd must be a number above 0")
    if attempts is None and usd is None:
        raise InputError(f"{origin}: {said}")
    return attempts, None if usd is None else float(usd)


def _seeds(value: Any, origin: str) -> tuple[int, ...]:
    """A count, or the seeds themselves."""
    if type(value) is int and 1 <= value <= MOST_RUNS:
        return tuple(range(value))
    whole = isinstance(value, list) and value and all(type(seed) is int and seed >= 0 for seed in value)
    if not whole or len(set(value)) < len(value):
        raise InputError(
            f"{origin}: seeds must be how many there are (0, 1, ...), or a list of different whole numbers"
        )
    return tuple(value)
