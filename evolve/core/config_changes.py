"""What may be changed of a run that was begun, and where its files lie whoever looks at them from wherever."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.places import is_shipped
from evaluator.task_files import built_in_tasks
from evolve.core.config import Config, ModelConfig, build_config, set_key
from evolve.core.errors import InputError

FROZEN = ("task", "suite", "initial", "seed", "search")
"""What makes a run the run that it is. All else may be changed when it goes on."""

PATHS = ("task", "initial", "prompts_dir", "prices", "models")
"""Keys that may hold paths of this machine: these stand in `run.yaml` and in no event."""


def with_absolute_paths(config: Config) -> Config:
    """`config` with its relative paths resolved from the present folder, so that the run can go on from any other."""
    found: dict[str, Any] = {"models": [_with_absolute_script(model) for model in config.models]}
    if config.task not in built_in_tasks():
        found["task"] = str(Path(config.task).resolve())
    for key in ("initial", "prompts_dir", "prices"):
        value = getattr(config, key)
        if value is not None:
            found[key] = str(Path(value).resolve())
    return config.model_copy(update=found)


def _with_absolute_script(model: ModelConfig) -> ModelConfig:
    if model.command is not None and "/" in model.command[0]:
        return model.model_copy(update={"command": [str(Path(model.command[0]).absolute()), *model.command[1:]]})
    if model.script is None or is_shipped(model.model.removeprefix("scripted:")):
        return model
    return model.model_copy(update={"model": f"scripted:{model.script}"})


def changed_config(config: Config, settings: Mapping[str, Any], *, task: str | None = None, begun: int = 0) -> Config:
    """`config` with `settings` (dotted keys, `models.NAME.KEY` for one of its models) on top; `task` says where the
    task's folder lies now, and `begun` how many generations the run has begun. Raises InputError for a key that is
    frozen, unknown, or has a wrong value."""
    document = config.model_dump(mode="json")
    for key, value in settings.items():
        section = key.partition(".")[0]
        if section in FROZEN:
            raise InputError(
                f"{key} is frozen: task, suite, initial program, seed and search.* are what makes a run the run that "
                "it is; begin a new run for another one"
                + (" (--task says where the folder of the same task lies now)" if section == "task" else "")
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
    """The keys whose values differ, with the new values; what may hold a path is named without its value."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return {key: None if key in PATHS else new[key] for key in new if new[key] != old[key]}
