"""The configuration of a run: every key, its meaning and its default. Unknown keys are errors."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo

from evaluator.input_files import Location, Section, checked
from evaluator.places import DEFAULT_TASK, resolve_path
from evolve.core.clusters import ClusterAddress, read_address
from evolve.core.errors import InputError
from evolve.core.prices import host_of, price_of
from evolve.core.program import OFFLINE, TUNER
from evolve.core.secrecy import (
    HIDDEN,
    looks_like_a_key,
    no_key,
    no_literal_secret,
    texts_in,
    variable_of_key,
    variables_in,
)

MOST_AT_ONCE = 1024
"""The most proposals in flight, and evaluator processes."""


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number_or_cluster(value: Any) -> Any:
    """A number of processes, or the address of a cluster."""
    if isinstance(value, str) and value.startswith("dask"):
        try:
            read_address(value)
        except InputError as wrong:
            raise ValueError(f"names no cluster: {wrong}") from None
    elif type(value) is not int or not 0 < value <= MOST_AT_ONCE:
        raise ValueError(
            f"must be a number of evaluator processes from 1 to {MOST_AT_ONCE}, dask://HOST:PORT (the scheduler of a "
            "cluster) or dask:local:N (N workers on this machine)"
        )
    return value


class KindWeights(Section):
    """How often each kind of patch is asked for, relative to the others that the proposer can write."""

    diff: float = Field(default=0.6, ge=0, description="an edit of the parent")
    full: float = Field(default=0.1, ge=0, description="a rewrite of the evolvable part (models only)")
    cross: float = Field(default=0.2, ge=0, description="a crossover of the parent and an inspiration")
    fix: float = Field(default=0.1, ge=0, description="a repair of a program that fails")
    tune: float = Field(default=0.0, ge=0, description="a search over its numbers in the sandbox: no model is asked")


class SearchConfig(Section):
    """How parents are chosen, and what a prompt shows with them."""

    strategy: str = Field(
        default="evolve",
        min_length=1,
        description="evolve, sequential, best_of_n, islands, or a dotted path to your own",
    )
    elites: int = Field(default=40, ge=1, description="the best programs that may become parents, one per behaviour")
    inspirations: int = Field(default=2, ge=0, description="other elites that a proposal may draw on")
    unguided: float = Field(default=0.2, ge=0, le=1, description="share of proposals that are given no guidance")
    stagnation: int = Field(
        default=30, ge=0, description="the best program is the parent until this many proposals bring no new best"
    )
    by_instance: float = Field(
        default=1.0, ge=0, le=1, description="after stagnation, share of parents drawn as the best on one instance"
    )
    models: Literal["weights", "bandit"] = Field(
        default="weights",
        description="how a model is chosen: by weight, or by gain per dollar so far (of three or more)",
    )
    islands: int = Field(default=4, ge=2, le=100, description="number of populations of the strategy islands")
    migrate_every: int = Field(
        default=20, ge=1, description="proposals until the best of each island is copied to the next one"
    )
    kinds: KindWeights = Field(default=KindWeights(), description="weights of the patch kinds")
    tune_evaluations: int = Field(default=60, ge=10, le=10_000, description="evaluations of one search over numbers")


_HEADER = re.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_EFFORT = re.compile("[a-z]{1,20}").fullmatch
_OWN_FIELDS = frozenset(
    ("model", "messages", "input", "stream", "temperature", "top_p", "max_tokens", "reasoning_effort", "api")
)


def _sendable_headers(value: Any) -> Any:
    """Headers that can be sent, without a literal secret."""
    headers = no_literal_secret(value)
    if not all(_HEADER(name) and text.isascii() and text.isprintable() for name, text in headers.items()):
        raise ValueError("must map names of headers to texts in printable ASCII")
    return headers


def _fields_of_json(value: Any) -> Any:
    """Further fields of a request, without a key."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError("must map names to values")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must be JSON: finite numbers, texts (quote dates), lists, mappings") from None
    own = next((name for name in value if name in _OWN_FIELDS), None)
    if own is not None:
        raise ValueError(f"{own!r} is sent already, or has a key of its own")
    return no_key(value)


def _one_or_several(fits: Callable[[Any], bool], wanted: str) -> BeforeValidator:
    """A value that fits, a list of such, or none."""

    def check(value: Any) -> Any:
        several = value if isinstance(value, list) else [value]
        if value is not None and not (several and all(map(fits, several))):
            raise ValueError(f"must be {wanted}, or a list of such to draw from")
        return value

    return BeforeValidator(check)


_TEMPERATURES = _one_or_several(lambda value: type(value) in (int, float) and 0 <= value < 1e3, "a number of 0 or more")
_EFFORTS = _one_or_several(lambda value: isinstance(value, str) and bool(_EFFORT(value)), "a word such as low or high")


class ModelConfig(Section):
    """One model. Prices are USD per million tokens; the key stays in the environment."""

    model: Annotated[str, BeforeValidator(no_key)] = Field(
        min_length=1, description="its name at the endpoint, or scripted:FILE"
    )
    name: Annotated[str | None, BeforeValidator(no_key)] = Field(
        default=None, min_length=1, description="its name in the record (null: the same)"
    )
    client: str | None = Field(default=None, description="a dotted path: your own client (null: ours)")
    command: Annotated[list[str] | None, BeforeValidator(no_key)] = Field(
        default=None, min_length=1, description="a command that answers: prompt on stdin, answer on stdout (null: none)"
    )
    base_url: Annotated[str | None, BeforeValidator(no_key)] = Field(
        default=None, description="the endpoint (null: OpenAI's)"
    )
    api_key_env: Annotated[str | None, BeforeValidator(variable_of_key)] = Field(
        default="OPENAI_API_KEY", description="the variable with the key (null: none sent)"
    )
    api: Literal["chat", "responses"] = Field(default="chat", description="chat completions, or the Responses API")
    stream: bool = Field(default=False, description="have answers sent piece by piece")
    headers: Annotated[dict[str, str], BeforeValidator(_sendable_headers)] = Field(
        default={}, description="sent with each request; `$NAME` is an environment variable"
    )
    query: Annotated[dict[str, str], BeforeValidator(no_literal_secret)] = Field(
        default={}, description="appended to each URL, such as api-version; `$NAME` as in headers"
    )
    temperature: Annotated[float | list[float] | None, _TEMPERATURES] = Field(
        default=None, description="sent only when set; of a list, one is drawn for each request"
    )
    top_p: float | None = Field(default=None, gt=0, le=1, description="sent only when set")
    effort: Annotated[str | list[str] | None, _EFFORTS] = Field(
        default=None, description="of thinking: low, medium, high, ...; sent only when set; a list as of temperature"
    )
    max_tokens: int | None = Field(default=None, ge=1, description="the longest answer; sent only when set")
    extra_body: Annotated[dict[str, Any], BeforeValidator(_fields_of_json)] = Field(
        default={}, description="further fields of each request, sent as they are"
    )
    timeout_s: float = Field(default=300.0, gt=0, description="deadline of one HTTP attempt")
    price_in: float | None = Field(default=None, ge=0, description="USD per million tokens sent")
    price_out: float | None = Field(default=None, ge=0, description="USD per million tokens received")
    price_cached: float | None = Field(
        default=None, ge=0, description="USD per million tokens sent that were in its cache (null: price_in)"
    )
    price_from: str | None = Field(default=None, description="source of the prices, as shown")
    weight: float = Field(default=1.0, ge=0, description="its share among several models (0: not asked)")

    @model_validator(mode="before")
    @classmethod
    def _command_and_script_want_no_key(cls, data: Any) -> Any:
        """A command or a scripted model has a key only if one is named: by default, no tool sees OpenAI's."""
        keyless = isinstance(data, dict) and (
            data.get("command") is not None or str(data.get("model")).startswith("scripted:")
        )
        return {"api_key_env": None} | data if keyless else data

    @property
    def key_variables(self) -> list[str]:
        """The environment variables that hold its secrets."""
        own = [] if self.api_key_env is None else [self.api_key_env]
        return [*own, *variables_in(self.headers), *variables_in(self.query)]

    @property
    def script(self) -> Path | None:
        """The file of a scripted model, None for a real one. `programs:FILE` names a built-in one."""
        named = self.model.startswith("scripted:")
        return resolve_path(self.model.removeprefix("scripted:"), folder=Path()) if named else None

    def with_price(self, file: str | None) -> "ModelConfig":
        """With the price from `file` or ours for this model at its host (commands and custom clients have none), unless
        it has a price here. Raises InputError."""
        own = (self.price_in, self.price_out, self.price_cached)
        if self.script is not None or any(price is not None for price in own):
            return self
        elsewhere = self.command is not None or self.client is not None
        host = None if elsewhere else host_of(self.base_url, name=self.shown_name)
        if (price := price_of(self.model, host, file=file)) is None:
            return self
        stated = price.model_dump(exclude={"source", "date"})
        return self.model_copy(update=stated | {"price_from": price.price_from})

    def cost(self, tokens_in: int, tokens_out: int, *, tokens_cached: int = 0) -> float | None:
        """USD for these tokens, `tokens_cached` of those sent from the provider's cache (at `price_in`, if they have no
        price of their own); None when a price is unknown."""
        if (tokens_in and self.price_in is None) or (tokens_out and self.price_out is None):
            return None
        price_in = self.price_in or 0.0
        price_cached = price_in if self.price_cached is None else self.price_cached
        sent = (tokens_in - tokens_cached) * price_in + tokens_cached * price_cached
        return (sent + tokens_out * (self.price_out or 0.0)) / 1_000_000

    @property
    def shown_name(self) -> str:
        """The model's name in the record; `scripted` for any scripted one."""
        return "scripted" if self.script is not None else self.name or self.model


class Config(Section):
    """A run. `null` switches a limit off; at least one of `generations` and `minutes` must be set."""

    task: str = Field(default=DEFAULT_TASK, description="a built-in task, or the folder of your own")
    suite: str | None = Field(default=None, description="the suite to score on (null: the task's default)")
    initial: str | None = Field(default=None, description="file of the initial program (null: the task's)")
    seed: int = Field(default=0, description="drives every random choice")
    generations: int | None = Field(default=100, ge=1, description="stop after this many proposals")
    minutes: float | None = Field(default=None, gt=0, description="stop after this many minutes, counted per session")
    patience: int | None = Field(default=None, ge=1, description="stop after this many proposals without a new best")
    budget_usd: float | None = Field(default=None, gt=0, description="stop before more than this is spent")
    budget_tokens: int | None = Field(default=None, ge=1, description="the same in tokens, sent and received")
    budget_calls: int | None = Field(default=None, ge=1, description="the same in HTTP requests")
    prices: str | None = Field(default=None, description="your YAML file with prices of models, which come before ours")
    models: list[ModelConfig] = Field(
        default=[], description="the models that write patches (none: the offline proposer)"
    )
    meta_every: int = Field(default=10, ge=1, description="proposals between two insights reports, at least")
    meta_model: str | None = Field(default=None, description="the model that writes them (null: the first with weight)")
    repair_model: str | None = Field(
        default=None, description="the model that repairs a program or an unusable answer (null: the same one)"
    )
    prompts_dir: str | None = Field(default=None, description="a folder whose templates override ours")
    prompt_tokens: int = Field(default=32_000, ge=500, description="the longest prompt, estimated")
    parallel: int = Field(
        default_factory=available_cores,
        ge=1,
        le=MOST_AT_ONCE,
        description="proposals in flight; 1 makes a run repeatable",
    )
    workers: Annotated[int | str, BeforeValidator(_number_or_cluster)] = Field(
        default_factory=available_cores, description="evaluator processes, or a cluster: dask://HOST:PORT, dask:local:N"
    )
    attempts: int = Field(
        default=3, ge=1, description="the most attempts of one proposal, while its answers are unusable"
    )
    search: SearchConfig = Field(default=SearchConfig(), description="parents and inspirations")

    @property
    def cluster(self) -> ClusterAddress | None:
        """The cluster that evaluates; None where this machine does."""
        return read_address(self.workers) if isinstance(self.workers, str) else None

    @property
    def processes(self) -> int:
        """How many evaluator processes this machine has. On a cluster they confirm and check."""
        return self.workers if isinstance(self.workers, int) else available_cores()

    @property
    def key_variables(self) -> list[str]:
        """The environment variables that hold the secrets of all models."""
        return [name for model in self.models for name in model.key_variables]

    def with_prices(self) -> "Config":
        """With a price for each model that has none here and whose price is known. Raises InputError."""
        return self.model_copy(update={"models": [model.with_price(self.prices) for model in self.models]})


_SECRET_PLACES = ("headers", "query", "extra_body")
_OF_ENDPOINTS = ("client", "base_url", "api", "stream", "temperature", "top_p", "effort", "max_tokens", *_SECRET_PLACES)


def build_config(document: Mapping[str, Any], *, origin: str, look_up: bool = False) -> Config:
    """The configuration in `document`, with defaults filled in. `look_up`: the prices of models, too; the run keeps
    them, even if a price list changes later.

    Raises InputError naming `origin`, the key, the value and what was expected, for each mistake.
    """
    names = tuple(name for name, _, _ in _entries(Config, ""))
    config = checked(Config, document, origin, InputError, hides=_hidden, elsewhere=names)
    if look_up:
        config = config.with_prices()
    if (fault := _fault_of_limits(config) or _fault_of_models(config)) is not None:
        raise InputError(f"{origin}: {fault}")
    return config


def _fault_of_limits(config: Config) -> str | None:
    """Why the limits of a run contradict each other or its models; None if they do not."""
    if config.generations is None and config.minutes is None:
        return "generations and minutes are both null, so the run would never stop; set one"
    for key in ("budget_usd", "budget_tokens", "budget_calls"):
        if getattr(config, key) is not None and not config.models:
            return f"{key} is set and no model is named: the offline proposer spends nothing"
    for model in config.models if config.budget_usd is not None else ():
        if model.script is None and (model.price_in is None or model.price_out is None):
            return (
                f"budget_usd is set and model {model.shown_name!r} has no price, so no budget can be kept; "
                "give it price_in and price_out (USD per million tokens), or a file of `prices`"
            )
    return None


def _fault_of_models(config: Config) -> str | None:
    """Why the models contradict each other or the keys that name them; None if they do not."""
    names = [model.shown_name for model in config.models]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        return f"two models are called {min(twice)!r}; give one of them another `name`"
    if reserved := sorted({OFFLINE, TUNER}.intersection(names)):
        return f"a model is called {reserved[0]!r}, which names code in the record; give it another `name`"
    if config.models and not any(model.weight for model in config.models):
        return "every model has weight 0, so that none would be asked; give one of them a weight"
    for key in ("meta_model", "repair_model"):
        if (name := getattr(config, key)) is not None and name not in names:
            return f"{key} {name!r} is not among the models ({', '.join(names) or 'none is named'})"
    for model in config.models:
        if model.command is not None and (unused := _of_no_use(model)):
            return f"model {model.shown_name!r} is a command, which does not use {', '.join(unused)}; leave that out"
    return None


def _of_no_use(model: ModelConfig) -> list[str]:
    """The keys that are set of a command and that only endpoints use."""
    named = [key for key in _OF_ENDPOINTS if getattr(model, key) != ModelConfig.model_fields[key].default]
    return [*named, *(["model (scripted:)"] if model.script is not None else [])]


def _hidden(location: Location, value: object) -> str | None:
    """The text to show in place of a value, or of an unknown key, that may be a secret; None if it is none."""
    texts = [*map(str, location[-1:]), *texts_in(value)]
    secret = {*_SECRET_PLACES, "api_key_env"} & set(map(str, location))
    return HIDDEN if secret or any(map(looks_like_a_key, texts)) else None


def _entries(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo, type[BaseModel] | None]]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        nested = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
        yield prefix + name, field, nested
        if nested is not None:
            yield from _entries(nested, f"{prefix}{name}.")


def keys() -> list[str]:
    """Every key of the configuration, dotted; those of a model under `models`."""
    own = [name for name, _, nested in _entries(Config, "") if nested is None]
    return [*own, *(f"models.{name}" for name in ModelConfig.model_fields)]


def table(section: type[BaseModel] = Config) -> Iterator[tuple[str, str, str]]:
    """Every key of a section, dotted, with its default and its meaning, for `docs/configuration.md`."""
    for name, field, nested in _entries(section, ""):
        if nested is None and name != "models":
            shown = "required"
            if field.default_factory is not None:
                shown = "the cores of this machine"
            elif not field.is_required():
                shown = f"`{_scalar(field.default)}`"
            yield name, shown, field.description or ""


def render_config(config: Config) -> str:
    """`config` as YAML, each key with its meaning as a comment, for `run.yaml` and `--print-config`."""
    return "\n".join(_lines(config, "")) + "\n"


def _lines(section: BaseModel, indent: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        nested = isinstance(value, BaseModel)
        blocks = [entry for entry in value if isinstance(entry, BaseModel)] if isinstance(value, list) else []
        head = f"{indent}{name}:" + ("" if nested or blocks else f" {_scalar(value)}")
        yield f"{head:<28} # {field.description}"
        if nested:
            yield from _lines(value, indent + "  ")
        for block in blocks:
            first, *rest = _lines(block, indent + "    ")
            yield f"{indent}  - {first.lstrip()}"
            yield from rest


def _scalar(value: object) -> str:
    """`value` as YAML on one line: JSON, but for text, since YAML does not join escaped surrogate pairs."""
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_scalar(inner)}" for key, inner in value.items()) + "}"
    if not isinstance(value, str):
        return json.dumps(value)
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return '"' + "".join(plain) + '"'


def yaml_lines(settings: Mapping[str, Any]) -> list[str]:
    """Settings as YAML for a configuration, a line each."""
    return [f"{key}: {_scalar(value)}" for key, value in settings.items()]


def set_key(document: dict[str, Any], dotted: str, value: Any) -> None:
    """Put `value` at a dotted key of a nested mapping, as `--set search.elites=10` and (for a model on the list)
    `--set models.NAME.max_tokens=9000` do. Raises InputError."""
    *sections, last = dotted.split(".")
    if sections and isinstance(document.get(sections[0]), list):
        document = _named(document[sections[0]], ".".join(sections[1:]), dotted)
        sections = []
    for section in sections:
        document = document.setdefault(section, {})
        if not isinstance(document, dict):
            raise InputError(f"--set {dotted}: {section!r} is a value, not a section")
    document[last] = value


def _named(entries: list[Any], name: str, dotted: str) -> dict[str, Any]:
    """The entry of a list of models with that name. Raises InputError."""
    for entry in entries:
        if isinstance(entry, dict) and name in (_name_of(entry), entry.get("model")):
            return entry
    names = ", ".join(_name_of(entry) for entry in entries if isinstance(entry, dict))
    raise InputError(f"--set {dotted}: there is no model {name!r} (models: {names or 'none'})")


def _name_of(entry: Mapping[str, Any]) -> str:
    """The name in the record of a model from a document that may not have been checked yet."""
    model = str(entry.get("model"))
    return "scripted" if model.startswith("scripted:") else str(entry.get("name") or model)
