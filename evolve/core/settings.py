"""A configuration made of a file, a mapping and single settings, and what may be changed of a run that was begun."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evaluator.places import is_shipped
from evaluator.task_files import built_in_tasks
from evaluator.untrusted import one_line
from evaluator.yaml_file import parse_value, read_mapping
from evolve.core.config import Config, ModelConfig, build_config, set_key
from evolve.core.errors import InputError

NOTHING: Mapping[str, Any] = MappingProxyType({})
FROZEN = ("task", "suite", "initial", "seed", "search")
"""Fixed for the lifetime of a run; all other keys may be changed when it is resumed."""

PATHS = ("task", "initial", "prompts_dir", "prices", "models")
"""Keys that may hold paths of this machine: their values are in `run.yaml` and in no event."""


def configured(
    base: str | Path | Mapping[str, Any] | None,
    *,
    settings: Sequence[str] = (),
    values: Mapping[str, Any] = NOTHING,
    models: Sequence[str | Mapping[str, Any]] | None = None,
    endpoint: Mapping[str, Any] = NOTHING,
    origin: str = "command line",
) -> Config:
    """The configuration in `base` (a YAML file, or a mapping), overridden by KEY=VALUE `settings`, by `values`, and by
    `models` (names or mappings). `endpoint` holds keys of every named model. `origin` is the source that messages name
    if there is no file. Raises InputError."""
    document: dict[str, Any]
    if isinstance(base, str | Path):
        document, origin = read_mapping(Path(base), error=InputError), str(base)
    else:
        document = dict(base or {})
    for key, value in parse_settings(settings).items():
        set_key(document, key, value)
    document |= values
    if models is not None:
        document["models"] = [_model(model, document.get("models"), endpoint) for model in models]
    return build_config(document, origin=origin, look_up=True)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The keys of `KEY=VALUE` settings, with their values as YAML. Raises InputError."""
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {one_line(setting, 40)}: must be KEY=VALUE")
        try:
            values[key.strip()] = parse_value(text)
        except ValueError:  # the value may be a secret: the message leaves it out
            raise InputError(f"--set {one_line(key, 40)}=...: that is not a YAML value; quote it") from None
    return values


def _model(model: str | Mapping[str, Any], configured: Any, endpoint: Mapping[str, Any]) -> Any:
    """The configured model of a name, or one with defaults only; both with the keys in `endpoint`."""
    if not isinstance(model, str):
        return model
    for entry in configured if isinstance(configured, list) else []:
        if isinstance(entry, dict) and model in (entry.get("name"), entry.get("model")):
            return entry | dict(endpoint)
    return {"model": model} | dict(endpoint)


def with_absolute_paths(config: Config) -> Config:
    """`config` with its relative paths resolved from the present folder, so that the run can be resumed from any."""
    absolute: dict[str, Any] = {"models": [_with_absolute_script(model) for model in config.models]}
    if config.task not in built_in_tasks():
        absolute["task"] = str(Path(config.task).resolve())
    for key in ("initial", "prompts_dir", "prices"):
        value = getattr(config, key)
        if value is not None:
            absolute[key] = str(Path(value).resolve())
    return config.model_copy(update=absolute)


def _with_absolute_script(model: ModelConfig) -> ModelConfig:
    if model.command is not None and "/" in model.command[0]:
        return model.model_copy(update={"command": [str(Path(model.command[0]).absolute()), *model.command[1:]]})
    if model.script is None or is_shipped(model.model.removeprefix("scripted:")):
        return model
    return model.model_copy(update={"model": f"scripted:{model.script}"})


def changed_config(config: Config, settings: Mapping[str, Any], *, task: str | None = None, begun: int = 0) -> Config:
    """`config` with `settings` (dotted keys, `models.NAME.KEY` for one of its models) on top; `task` is the present
    place of the task's folder, `begun` the number of generations that the run has begun. Raises InputError for a key
    that is frozen, unknown, or has a wrong value."""
    document = config.model_dump(mode="json")
    for key, value in settings.items():
        section = key.partition(".")[0]
        if section in FROZEN:
            raise InputError(
                f"{key} is frozen: task, suite, initial program, seed and search.* are fixed once a run has begun; "
                "start a new run" + (" (--task gives the present folder of the same task)" if section == "task" else "")
            )
        set_key(document, key, value)
    changed = build_config(document, origin="what is to be changed", look_up="prices" in settings)
    if "generations" in settings and changed.generations is not None and changed.generations < begun:
        raise InputError(
            f"generations: {changed.generations} is fewer than the {begun} that the run has begun; it counts from "
            "the beginning"
        )
    lacking = {model.shown_name for model in config.models} - {model.shown_name for model in changed.models}
    if lacking:
        raise InputError(
            f"models: {', '.join(sorted(lacking))} would be gone, and generations on record name it; "
            "give it weight 0 instead"
        )
    if task is not None:
        changed = changed.model_copy(update={"task": task})
    return with_absolute_paths(changed)


def changes(before: Config, after: Config) -> dict[str, Any]:
    """The keys whose values differ, with the new values; a key that may hold a path has None."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return {key: None if key in PATHS else new[key] for key in new if new[key] != old[key]}
