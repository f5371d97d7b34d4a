"""Settings from another system's configuration: pure functions of the document. They take it key by key, so that the
keys that were not taken over can be listed."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from evaluator.untrusted import one_line
from evolve.core.config import MOST_AT_ONCE
from evolve.core.errors import InputError

_TIMEOUT_S: Final = 300
"""OpenEvolve's default time for an evaluation, and so the script's here."""
_OPENAI: Final = "https://api.openai.com/v1"
_VARIABLE: Final = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
_LOCAL_MODEL: Final = re.compile(r"local[-/](?>(.+?)[-@](?=https?://))(.+)")
_COUNTERPARTS: Final = {
    "search.kinds": ("diff_based_evolution", "patch_types", "patch_type_probs"),
    "attempts": ("max_patch_resamples", "max_patch_attempts"),
    "search.inspirations": (
        "num_top_programs",
        "num_diverse_programs",
        "num_archive_inspirations",
        "num_top_k_inspirations",
    ),
    "temperature of each model": ("temperature", "temperatures"),
    "prompts_dir": ("template_dir",),
    "prompt.md": ("system_message",),
}
_BY_HAND: Final = {theirs: ours for ours, keys in _COUNTERPARTS.items() for theirs in keys}
"""Keys with a counterpart of nearly the same meaning, whose value a person has to choose."""
_WHY: Final = {
    "database": "parents, islands and archives are chosen by search.* here",
    "db_config": "parents, islands and archives are chosen by search.* here",
    "prompt": "the rest of a prompt comes from templates; see prompts_dir",
    "llm": "see the keys of a model",
    "evolution_trace": "a run's archive keeps all of it",
    "job_config": "a program is scored on this machine, in the sandbox",
}


_T_co = TypeVar("_T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class _Wanted(Generic[_T_co]):
    """The allowed value of a key, in words and as a type."""

    words: str
    reader: TypeAdapter[_T_co]


_Number = Annotated[int | float, Field(gt=-math.inf, lt=math.inf)]
_Names = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
]
_TEXT: Final = _Wanted("a text", TypeAdapter(str))
_NAMES: Final = _Wanted("a list of texts", TypeAdapter[list[str]](_Names))
_FLAG: Final = _Wanted("true or false", TypeAdapter(bool))
_WHOLE: Final = _Wanted("a whole number", TypeAdapter(int))
_COUNT: Final = _Wanted("a whole number from 1", TypeAdapter[int](Annotated[int, Field(ge=1)]))
_SIZE: Final = _Wanted("a number above 0", TypeAdapter[float](Annotated[_Number, Field(gt=0)]))
_SHARE: Final = _Wanted("a number, 0 or more", TypeAdapter[float](Annotated[_Number, Field(ge=0)]))
_NUMBERS: Final = _Wanted("a list of numbers", TypeAdapter[list[float]](list[_Number]))
_LIST: Final = _Wanted("a list", TypeAdapter(list[Any]))
_PLAIN: Final = _Wanted(
    "a mapping of names to plain values",
    TypeAdapter(dict[str, JsonValue], config=ConfigDict(allow_inf_nan=False)),
)


class TheirDocument:
    """Nested mappings whose keys are taken one by one. `origin` is its name in messages."""

    def __init__(self, document: Mapping[str, Any], origin: str) -> None:
        self._document = document
        self._origin = origin
        self._taken: set[str] = set()

    def take(self, key: str, kind: _Wanted[_T_co]) -> _T_co | None:
        """The value at a dotted key, None without one. Raises InputError if it is of another kind."""
        value = self.anything(key)
        try:
            return None if value is None else kind.reader.validate_python(value, strict=True)
        except ValidationError:
            raise self.wrong(key, value, kind.words) from None

    def wrong(self, key: str, value: object, wanted: str) -> InputError:
        """The error about the value of a key."""
        return InputError(f"{self._origin}: {key} must be {wanted}, not {one_line(repr(value), 80)}")

    def rest(self) -> dict[str, list[str]]:
        """The keys that have a value and were not taken, by section ("" for top-level keys)."""
        left_over: dict[str, list[str]] = {}
        for key, value in self._document.items():
            left = [] if key in self._taken else self._left(key, value, whole=False)
            if left:
                left_over.setdefault(key if isinstance(value, dict) else "", []).extend(left)
        return left_over

    def _left(self, key: str, value: object, *, whole: bool) -> list[str]:
        """The keys not taken at and below a dotted key; with `whole`, an untouched section is given by its own name."""
        if value is None or key in self._taken:
            return []
        if not isinstance(value, dict) or (whole and not any(taken.startswith(f"{key}.") for taken in self._taken)):
            return [key]
        return [left for name, inner in value.items() for left in self._left(f"{key}.{name}", inner, whole=True)]

    def anything(self, key: str) -> Any:
        """The value at a dotted key, None without one. Raises InputError if its section is not a mapping."""
        self._taken.add(key)
        value: Any = self._document
        *sections, last = key.split(".")
        for number, section in enumerate(sections):
            value = value.get(section)
            if value is None:
                return None
            if not isinstance(value, dict):
                raise self.wrong(".".join(sections[: number + 1]), value, "a section with keys")
        return value.get(last)


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirSettings:
    """The settings taken over. `constants` are those of the generated `evaluate.py`; `run` and `models` are keys of our
    own configuration (the user has to confirm the models), `later` are keys that need a model; `notes` list the rest.
    """

    prompt: str | None = None
    wall_s: float | None = None
    memory_mb: int | None = None
    constants: dict[str, object] = field(default_factory=dict)
    run: dict[str, object] = field(default_factory=dict)
    models: tuple[dict[str, object], ...] = ()
    later: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def of_openevolve(document: Mapping[str, Any], origin: str, *, stages: int) -> TheirSettings:
    """The settings in a configuration of OpenEvolve, whose evaluator has `stages` stages. Raises InputError."""
    theirs = TheirDocument(document, origin)
    cascade = theirs.take("evaluator.cascade_evaluation", _FLAG) is not False
    features = theirs.take("database.feature_dimensions", _LIST)
    constants: dict[str, object] = {
        "CASCADE": cascade,
        "THRESHOLDS": theirs.take("evaluator.cascade_thresholds", _NUMBERS),
        "ARGUMENTS": theirs.take("evaluator.evaluator_args", _PLAIN) or None,
        "NOT_FITNESS": None if features is None else [str(name) for name in features],
    }
    timeout = theirs.take("evaluator.timeout", _SIZE)
    prompt = theirs.take("prompt.system_message", _TEXT)
    if prompt in (None, "system_message"):  # the name of their default text
        prompt = theirs.take("llm.system_message", _TEXT)
    models, notes = _openevolve_models(theirs)
    patience = theirs.take("early_stopping_patience", _WHOLE)
    if patience is not None and patience < 1:
        notes.append(f"{origin}: not taken over: early_stopping_patience {patience} (there is no target score here)")
    run = {
        "generations": theirs.take("max_iterations", _COUNT),
        "seed": theirs.take("random_seed", _WHOLE),
        "patience": patience if patience is None or patience > 0 else None,
        "workers": _at_once(theirs, "evaluator.parallel_evaluations"),
    }
    for ignored in (
        "language",
        "file_suffix",
        *(["diff_based_evolution"] if document.get("diff_based_evolution") else []),
    ):
        theirs.anything(ignored)
    return TheirSettings(
        prompt=prompt,
        wall_s=(timeout or _TIMEOUT_S) * (stages if cascade and stages else 1),  # their limit is per stage
        memory_mb=theirs.take("evaluator.memory_limit_mb", _COUNT),
        constants=_known(constants),
        run=_known(run),
        models=tuple(models),
        notes=(*notes, *_not_taken(theirs, origin)),
    )


def of_shinka(document: Mapping[str, Any], origin: str) -> TheirSettings:
    """The settings in a configuration of ShinkaEvolve. Raises InputError."""
    evo = next((name for name in ("evo_config", "evolution_config") if name in document), "evo_config")
    job = next((name for name in ("job_config", "distributed_job_config") if name in document), "job_config")
    theirs = TheirDocument(document, origin)
    most = theirs.take(f"{evo}.llm_kwargs.max_tokens", _COUNT)
    models = [_shinka_model(name, most) for name in theirs.take(f"{evo}.llm_models", _NAMES) or []]
    meta_name = next(iter(theirs.take(f"{evo}.meta_llm_models", _NAMES) or []), None)
    later = {
        "budget_usd": theirs.take(f"{evo}.max_api_costs", _SIZE),
        "meta_model": meta_name if meta_name in [model["model"] for model in models] else None,
    }
    for ignored in ("init_program_path", "language", "results_dir"):
        theirs.anything(f"{evo}.{ignored}")
    theirs.anything(f"{job}.eval_program_path")
    settings = {
        "generations": theirs.take(f"{evo}.num_generations", _COUNT),
        "meta_every": theirs.take(f"{evo}.meta_rec_interval", _COUNT),
        "workers": _at_once(
            theirs, "max_evaluation_jobs", f"{evo}.max_evaluation_jobs", f"{evo}.max_parallel_jobs", "max_parallel_jobs"
        ),
        "parallel": _at_once(theirs, "max_proposal_jobs", f"{evo}.max_proposal_jobs"),
    }
    return TheirSettings(
        prompt=theirs.take(f"{evo}.task_sys_msg", _TEXT),
        wall_s=_seconds(theirs, f"{job}.time"),
        constants=_known({"ARGUMENTS": theirs.take(f"{job}.extra_cmd_args", _PLAIN) or None}),
        run=_known(settings),
        models=tuple(models),
        later=_known(later),
        notes=tuple(_not_taken(theirs, origin)),
    )


def _known(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


def _not_taken(theirs: TheirDocument, origin: str) -> list[str]:
    keys_by_reason: dict[str, list[str]] = {}
    for section, keys in theirs.rest().items():
        for key in keys:
            ours = _BY_HAND.get(key.rpartition(".")[2])
            why = _WHY.get(section, "there is no counterpart") if ours is None else f"set {ours} by hand"
            keys_by_reason.setdefault(why, []).append(key)
    return [f"{origin}: not taken over: {', '.join(keys)} ({why})" for why, keys in keys_by_reason.items()]


def _at_once(theirs: TheirDocument, *keys: str) -> int | None:
    """The number of parallel jobs at the first of these keys with a value; None without one."""
    given = [value for key in keys if (value := theirs.take(key, _COUNT)) is not None]
    return min(given[0], MOST_AT_ONCE) if given else None


def _of_a_model(theirs: TheirDocument, section: str, notes: list[str]) -> dict[str, object]:
    """The settings of a model in the section `llm` or one of its entries. A literal API key is not copied, and a note
    says so."""
    key = theirs.anything(f"{section}api_key")
    variable = _VARIABLE.fullmatch(key) if isinstance(key, str) else None
    if key is not None and variable is None:
        where = section or "llm.models."
        notes.append(f"{where}api_key is not copied: put the key into a variable, and name that by api_key_env")
    settings = {
        "base_url": theirs.take(f"{section}api_base", _TEXT),
        "api_key_env": variable[1] if variable else None,
        "temperature": theirs.take(f"{section}temperature", _SHARE),
        "max_tokens": theirs.take(f"{section}max_tokens", _COUNT),
        "timeout_s": theirs.take(f"{section}timeout", _SIZE),
    }
    return _known(settings)


def _openevolve_models(theirs: TheirDocument) -> tuple[list[dict[str, object]], list[str]]:
    """The models in the `llm` section with their own and shared settings, and notes."""
    notes: list[str] = []
    shared = _of_a_model(theirs, "llm.", notes)
    entries: list[Any] = list(theirs.take("llm.models", _LIST) or [])
    for role, weight in (("primary", 1.0), ("secondary", 0.2)):
        name = theirs.take(f"llm.{role}_model", _TEXT)
        given = theirs.take(f"llm.{role}_model_weight", _SHARE)
        if name and given != 0:
            entries.append({"name": name, "weight": weight if given is None else given})
    models = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise theirs.wrong("llm.models", entry, "a list of models, each with a name")
        inner = TheirDocument(entry, "llm.models")
        own = _of_a_model(inner, "", notes) | _known({"weight": inner.take("weight", _SHARE)})
        model = {"model": inner.take("name", _TEXT)} | shared | own
        notes += _not_taken(inner, "llm.models")
        models.append({key: value for key, value in model.items() if (key, value) != ("base_url", _OPENAI)})
    return models, list(dict.fromkeys(notes))


def _shinka_model(name: str, max_tokens: int | None) -> dict[str, object]:
    """A model of ShinkaEvolve; the name of a model on a local server contains its address."""
    local = _LOCAL_MODEL.fullmatch(name)
    model = {"model": name} if local is None else {"model": local[1], "base_url": local[2], "api_key_env": None}
    return model | _known({"max_tokens": max_tokens})


def _seconds(theirs: TheirDocument, key: str) -> float | None:
    """The seconds of a time such as 00:10:00. Raises InputError."""
    value = theirs.anything(key)
    if value is None:
        return None
    parts = str(value).split(":")
    if isinstance(value, bool) or len(parts) > 3 or not all(part.isdecimal() and len(part) < 7 for part in parts):
        raise theirs.wrong(key, value, "a time such as 00:10:00")
    seconds = sum(int(part) * 60**place for place, part in enumerate(reversed(parts)))
    if seconds == 0:
        raise theirs.wrong(key, value, "a time above 0")
    return float(seconds)
