"""From a file and options to the document that a configuration is built of."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any


def read_document(
    config: str | None,
    *,
    settings: Sequence[str] = (),
    values: Mapping[str, Any] = MappingProxyType({}),
    models: Sequence[str] = (),
) -> tuple[dict[str, Any], str]:
    """The document, and what to call it in messages. Later overrides earlier: the file `config`, the KEY=VALUE of
    `settings`, `values` that are not None, `models` by name. Raises InputError."""
    from evaluator.yaml_file import read_mapping
    from evolve.config import set_key
    from evolve.errors import InputError

    document: dict[str, Any] = {}
    origin = "command line"
    if config is not None:
        document = read_mapping(Path(config), error=InputError)
        origin = config
    for key, value in parse_settings(settings).items():
        set_key(document, key, value)
    document |= {key: value for key, value in values.items() if value is not None}
    if models:
        document["models"] = [_model(name, document.get("models")) for name in models]
    return document, origin


def add_settings_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--set KEY=VALUE`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help=f"{what}; may be repeated",
    )


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The keys of `--set KEY=VALUE`, and their values as YAML. Raises InputError."""
    from evaluator.yaml_file import parse_value
    from evolve.errors import InputError

    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: must be KEY=VALUE")
        try:
            found[key.strip()] = parse_value(text)
        except ValueError as cause:
            raise InputError(f"--set {setting}: {cause}") from None
    return found


def _model(name: str, configured: Any) -> Any:
    """What `--model name` stands for: the configured model of that name, or one with nothing but defaults."""
    for model in configured if isinstance(configured, list) else []:
        if isinstance(model, dict) and name in (model.get("name"), model.get("model")):
            return model
    return {"model": name}
