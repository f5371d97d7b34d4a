"""The plan of an experiment: read from its file, checked against an earlier beginning, and expanded into runs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from evaluator.input_files import Section, checked, matching
from evaluator.yaml_file import read_mapping
from evolve.core.config import Config, build_config, keys, set_key
from evolve.core.errors import InputError
from evolve.core.files import read_text, write_file
from evolve.review.runs import RUNS

PLAN: Final = "experiment.json"
"""The file in an experiment's folder with the plan of its runs."""
MOST_RUNS: Final = 2000
MOST_ATTEMPTS: Final = 1_000_000
"""The limit of generations if only dollars end a run."""

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
        """Its name on a terminal."""
        return f"{self.configuration}, seed {self.seed}"


_INSTEAD: Final = {
    "seed": "set it by `seeds`",
    "generations": "set it by `budget.attempts`",
    "budget_usd": "set it by `budget.usd`",
    "minutes": "minutes are no equal budget; set attempts or dollars in `budget`",
    "task": "set it in `base`",
    "suite": "set it in `base`",
}


def _settings(value: Any) -> Any:
    """Keys of a run's configuration, dotted or nested, as dotted keys."""
    if not isinstance(value, dict):
        return {} if value is None else value
    sections = {key.partition(".")[0] for key in keys() if "." in key and not key.startswith("models.")}
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        flat |= _flattened(str(key), inner) if key in sections else {str(key): inner}
    return flat


def _flattened(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {key: value}
    return {dotted: leaf for name in value for dotted, leaf in _flattened(f"{key}.{name}", value[name]).items()}


def _seeds(value: Any) -> tuple[int, ...]:
    """A count, or the seeds themselves."""
    if type(value) is int and 1 <= value <= MOST_RUNS:
        return tuple(range(value))
    whole = isinstance(value, list) and value and all(type(seed) is int and seed >= 0 for seed in value)
    if not whole or len(set(value)) < len(value):
        raise ValueError("must be the number of seeds (0, 1, ...), or a list of different whole numbers")
    return tuple(value)


_Name = Annotated[
    str,
    matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}", "a plain folder name: letters, digits, '_', '-' and '.', at most 60"),
]
_Settings = Annotated[dict[str, Any], BeforeValidator(_settings)]


class RunBudget(Section):
    """The budget of each run; None for no such limit."""

    attempts: int | None = Field(default=None, ge=1, le=MOST_ATTEMPTS)
    usd: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.attempts is None and self.usd is None:
            raise ValueError("must hold `attempts` (a whole number), `usd`, or both: what each run may use")
        return self


class Plan(Section):
    """Configurations (by name, as dotted keys), each of which runs with every seed at one budget."""

    name: _Name
    base: _Settings = Field(default={})
    configurations: dict[_Name, _Settings] = Field(min_length=1, description="a name for the settings of each")
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = tuple(range(5))
    budget: RunBudget = Field(description="`attempts`, `usd`, or both: what each run may use")

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        for refused, settings, where in (
            (_OF_THE_EXPERIMENT, self.base, "base"),
            *((_OF_THE_BASE, own, f"configurations.{name}") for name, own in self.configurations.items()),
        ):
            if (key := next((key for key in refused if key in settings), None)) is not None:
                raise ValueError(f"{where}.{key}: every run of an experiment has the same; {_INSTEAD[key]}")
        if (runs := len(self.seeds) * len(self.configurations)) > MOST_RUNS:
            raise ValueError(f"{runs} runs; at most {MOST_RUNS} make an experiment")
        return self

    @property
    def folder(self) -> Path:
        """The folder of its runs."""
        return RUNS / self.name

    def runs(self) -> list[PlannedRun]:
        """Every run, seed by seed, so that the finished ones can be compared at any time.

        Raises InputError for an invalid configuration, or two equal ones.
        """
        by_name = {name: self._config(name, self.seeds[0]) for name in self.configurations}
        for name, config in by_name.items():
            first = next(earlier for earlier, theirs in by_name.items() if theirs == config)
            if first != name:
                raise InputError(f"configurations.{name}: is the same as {first}, so there is nothing to compare")
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
        document |= {"seed": seed, "budget_usd": self.budget.usd, "generations": self.budget.attempts or MOST_ATTEMPTS}
        return build_config(document, origin=f"configurations.{name}", look_up=True)


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file. Raises InputError that names the file, the key and what was expected."""
    return checked(Plan, {"name": path.stem, **read_mapping(path, error=InputError)}, path, InputError)


def settle(plan: Plan) -> None:
    """Write the plan into its folder. If there is one already, this must be its continuation: only more configurations,
    more seeds or a larger budget are allowed. Raises InputError otherwise."""
    file = plan.folder / PLAN
    if file.exists():
        try:
            before = checked(Plan, json.loads(read_text(file)), file, InputError)
        except ValueError:
            raise InputError(f"{file}: is damaged; give the experiment another `name`") from None
        _require_continuation(before, plan, file)
    elif plan.folder.exists() and any(plan.folder.iterdir()):
        raise InputError(f"{plan.folder} exists and holds no experiment; give this one another `name`")
    plan.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plan.model_dump(mode="json"), indent=2, sort_keys=True) + "\n"
    write_file(file, text.encode(), overwrite=True)


def _require_continuation(before: Plan, now: Plan, file: Path) -> None:
    changed = ["base"] * (before.base != now.base)
    for name, settings in before.configurations.items():
        changed += [f"configurations.{name}"] * (now.configurations.get(name) != settings)
    changed += ["seeds"] * (not set(before.seeds) <= set(now.seeds))
    changed += ["budget.attempts"] * _is_less(now.budget.attempts, before.budget.attempts)
    changed += ["budget.usd"] * _is_less(now.budget.usd, before.budget.usd)
    if changed:
        raise InputError(
            f"{', '.join(changed)}: not as in the plan of the runs in {file.parent} (see {file.name} there); restore "
            "it, or give the experiment another `name`. More seeds, more configurations or a larger budget are allowed"
        )


def _is_less(now: float | None, before: float | None) -> bool:
    return now is not None and (before is None or now < before)
