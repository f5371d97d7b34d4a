"""From a file, a mapping and single settings to a configuration: the same for the commands and for `import evolve`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evaluator.untrusted import one_line
from evaluator.yaml_file import parse_value, read_mapping
from evolve.core.config import Config, build_config, set_key
from evolve.core.errors import InputError

NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    `models`, which may be named only. `endpoint` holds keys of every named model. `origin` is what messages call
    everything but a file. Raises InputError."""
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
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {one_line(setting, 40)}: must be KEY=VALUE")
        try:
            found[key.strip()] = parse_value(text)
        except ValueError:  # it is not repeated: a secret may stand in it
            raise InputError(f"--set {one_line(key, 40)}=...: that is not a YAML value; quote it") from None
    return found


def _model(model: str | Mapping[str, Any], known: Any, endpoint: Mapping[str, Any]) -> Any:
    """What a model's name stands for: the configured model of that name, or one with nothing but defaults; both with
    the keys in `endpoint`."""
    if not isinstance(model, str):
        return model
    for entry in known if isinstance(known, list) else []:
        if isinstance(entry, dict) and model in (entry.get("name"), entry.get("model")):
            return entry | dict(endpoint)
    return {"model": model} | dict(endpoint)
