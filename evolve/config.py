"""The configuration of a run: every key, its meaning and its default. Unknown keys are errors."""

import difflib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from evolve.errors import InputError


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class KindWeights(_Section):
    """How often each kind of patch is asked for, relative to the others that the proposer can write."""

    diff: float = Field(default=0.75, ge=0, description="an edit of the parent")
    cross: float = Field(default=0.25, ge=0, description="a crossover of the parent and an inspiration")


class SearchConfig(_Section):
    """Who becomes a parent, and what is shown beside it."""

    elites: int = Field(default=40, ge=1, description="the best programs that may become parents, one per behaviour")
    inspirations: int = Field(default=2, ge=0, description="other elites that a proposal may draw on")
    kinds: KindWeights = Field(default=KindWeights(), description="weights of the patch kinds")


class Config(_Section):
    """A run. `null` switches a limit off; at least one of `generations` and `minutes` must be set."""

    task: str = Field(default="placement", description="a built-in task, or the folder of one's own")
    suite: str | None = Field(default=None, description="the suite to score on (null: the task's default)")
    initial: str | None = Field(default=None, description="file of the initial program (null: the task's)")
    seed: int = Field(default=0, description="drives every random choice")
    generations: int | None = Field(default=100, ge=1, description="stop after this many proposals")
    minutes: float | None = Field(default=None, gt=0, description="stop after this many minutes, counted per session")
    patience: int | None = Field(default=None, ge=1, description="stop after this many proposals without a new best")
    parallel: int = Field(
        default_factory=available_cores,
        ge=1,
        le=1024,
        description="proposals in flight; 1 makes a run repeatable",
    )
    workers: int = Field(default_factory=available_cores, ge=1, le=1024, description="evaluator processes")
    attempts: int = Field(
        default=3, ge=1, description="how often one proposal may be asked again after an unusable answer"
    )
    search: SearchConfig = Field(default=SearchConfig(), description="parents and inspirations")


def build_config(document: Mapping[str, Any], *, origin: str) -> Config:
    """The configuration in `document`, with defaults filled in.

    Raises InputError naming `origin`, the key, the value and what was expected, one line for each mistake.
    """
    try:
        config = Config.model_validate(dict(document))
    except ValidationError as invalid:
        mistakes = [_mistake(error["loc"], error["type"], error["msg"], error["input"]) for error in invalid.errors()]
        raise InputError(f"{origin}: " + "; ".join(mistakes)) from None
    if config.generations is None and config.minutes is None:
        raise InputError(f"{origin}: generations and minutes are both null, so the run would never stop; set one")
    return config


def _mistake(location: tuple[int | str, ...], kind: str, message: str, value: object) -> str:
    key = ".".join(str(part) for part in location)
    if kind == "extra_forbidden":
        known = [name for name, _, _ in _entries(Config, "")]
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"
        return f"unknown key {key!r} ({hint})"
    shown = repr(value)
    return f"{key}: {message[0].lower()}{message[1:]}, not {shown if len(shown) <= 80 else shown[:80] + '...'}"


def _entries(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo, type[BaseModel] | None]]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        nested = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
        yield prefix + name, field, nested
        if nested is not None:
            yield from _entries(nested, f"{prefix}{name}.")


def keys() -> list[str]:
    """Every key of the configuration, dotted."""
    return [name for name, _, nested in _entries(Config, "") if nested is None]


def render_config(config: Config) -> str:
    """`config` as YAML, each key with its meaning behind it. What `run.yaml` holds and `--print-config` prints."""
    lines = []
    for name, field, nested in _entries(Config, ""):
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        head = "  " * name.count(".") + name.rsplit(".", 1)[-1] + ":" + ("" if nested else f" {_scalar(value)}")
        lines.append(f"{head:<28} # {field.description}")
    return "\n".join(lines) + "\n"


def _scalar(value: object) -> str:
    """`value` as a YAML scalar: JSON is one, but for text, whose escaped surrogate pairs YAML does not join."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return '"' + "".join(plain) + '"'


def set_key(document: dict[str, Any], dotted: str, value: Any) -> None:
    """Put `value` at a dotted key of a nested mapping, as `--set search.elites=10` does. Raises InputError."""
    *sections, last = dotted.split(".")
    for section in sections:
        document = document.setdefault(section, {})
        if not isinstance(document, dict):
            raise InputError(f"--set {dotted}: {section!r} is a value, not a section")
    document[last] = value
