"""What of somebody else's configuration means something here: pure functions of the document."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evolve.config import MOST_AT_ONCE
from evolve.importing.document import TheirDocument

_TIMEOUT_S: Final = 300
"""What OpenEvolve gives an evaluation where nothing is said; a script here has as much."""
_OPENAI: Final = "https://api.openai.com/v1"
_VARIABLE: Final = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
_LOCAL_MODEL: Final = re.compile(r"local[-/](?>(.+?)[-@](?=https?://))(.+)")
_BY_HAND: Final = {
    **dict.fromkeys(("diff_based_evolution", "patch_types", "patch_type_probs"), "search.kinds"),
    **dict.fromkeys(("max_patch_resamples", "max_patch_attempts"), "attempts"),
    **dict.fromkeys(("num_top_programs", "num_diverse_programs"), "search.inspirations"),
    **dict.fromkeys(("num_archive_inspirations", "num_top_k_inspirations"), "search.inspirations"),
    **dict.fromkeys(("temperature", "temperatures"), "temperature of each model"),
    "template_dir": "prompts_dir",
}
"""Keys that have a counterpart which means nearly the same, so that somebody has to choose its value."""
_WHY: Final = {
    "database": "parents, islands and archives are chosen by search.* here",
    "db_config": "parents, islands and archives are chosen by search.* here",
    "prompt": "what a prompt holds beside the task is ours; see prompts_dir",
    "llm": "see the keys of a model",
    "evolution_trace": "a run's archive keeps all of it",
    "job_config": "a program is scored on this machine, in the sandbox",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirSettings:
    """What was taken over. `constants` are those of the generated `evaluate.py`, `run` and `models` keys of our own
    configuration (the models are left to be confirmed), `later` keys that need a model; `notes` say what was not taken.
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
    """The settings in a configuration of OpenEvolve, whose evaluator has so many stages. Raises InputError."""
    theirs = TheirDocument(document, origin)
    cascade = theirs.flag("evaluator.cascade_evaluation", True)
    thresholds = theirs.listed("evaluator.cascade_thresholds")
    if thresholds is not None and not all(type(t) in (int, float) and math.isfinite(t) for t in thresholds):
        raise theirs.wrong("evaluator.cascade_thresholds", thresholds, "a list of numbers")
    features = theirs.listed("database.feature_dimensions")
    constants: dict[str, object] = {
        "CASCADE": cascade,
        "THRESHOLDS": thresholds,
        "ARGUMENTS": theirs.mapping("evaluator.evaluator_args") or None,
        "NOT_FITNESS": None if features is None else [str(name) for name in features],
    }
    timeout = theirs.number("evaluator.timeout")
    prompt = theirs.text("prompt.system_message")
    models, notes = _openevolve_models(theirs)
    run = {
        "generations": theirs.whole("max_iterations"),
        "seed": theirs.whole("random_seed", least=-(2**63)),
        "patience": theirs.whole("early_stopping_patience"),
        "workers": _at_once(theirs, "evaluator.parallel_evaluations"),
    }
    for known in (
        "language",
        "file_suffix",
        "diff_based_evolution" if document.get("diff_based_evolution") else "language",
    ):
        theirs.anything(known)
    return TheirSettings(
        prompt=None if prompt == "system_message" else prompt,  # that is the name of their own text
        wall_s=(timeout or _TIMEOUT_S) * (stages if cascade and stages else 1),  # theirs is for each stage
        memory_mb=theirs.whole("evaluator.memory_limit_mb"),
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
    most = theirs.whole(f"{evo}.llm_kwargs.max_tokens")
    models = [_shinka_model(name, most) for name in theirs.names(f"{evo}.llm_models")]
    meta_name = next(iter(theirs.names(f"{evo}.meta_llm_models")), None)
    later = {
        "budget_usd": theirs.number(f"{evo}.max_api_costs"),
        "meta_model": meta_name if meta_name in [model["model"] for model in models] else None,
    }
    for known in ("init_program_path", "language", "results_dir"):
        theirs.anything(f"{evo}.{known}")
    theirs.anything(f"{job}.eval_program_path")
    settings = {
        "generations": theirs.whole(f"{evo}.num_generations"),
        "meta_every": theirs.whole(f"{evo}.meta_rec_interval"),
        "workers": _at_once(
            theirs, "max_evaluation_jobs", f"{evo}.max_evaluation_jobs", f"{evo}.max_parallel_jobs", "max_parallel_jobs"
        ),
        "parallel": _at_once(theirs, "max_proposal_jobs", f"{evo}.max_proposal_jobs"),
    }
    return TheirSettings(
        prompt=theirs.text(f"{evo}.task_sys_msg"),
        wall_s=_seconds(theirs, f"{job}.time"),
        constants=_known({"ARGUMENTS": theirs.mapping(f"{job}.extra_cmd_args") or None}),
        run=_known(settings),
        models=tuple(models),
        later=_known(later),
        notes=tuple(_not_taken(theirs, origin)),
    )


def _known(values: Mapping[str, object]) -> dict[str, object]:
    """The entries that have a value."""
    return {key: value for key, value in values.items() if value is not None}


def _not_taken(theirs: TheirDocument, origin: str) -> list[str]:
    told: dict[str, list[str]] = {}
    for section, keys in theirs.rest().items():
        for key in keys:
            ours = _BY_HAND.get(key.rpartition(".")[2])
            why = _WHY.get(section, "there is no counterpart") if ours is None else f"set {ours} by hand"
            told.setdefault(why, []).append(key)
    return [f"{origin}: not taken over: {', '.join(keys)} ({why})" for why, keys in told.items()]


def _at_once(theirs: TheirDocument, *keys: str) -> int | None:
    """How many are worked on at a time: what the first of these keys that is there says, None without any."""
    given = [found for key in keys if (found := theirs.whole(key)) is not None]
    return min(given[0], MOST_AT_ONCE) if given else None


def _key(found: Any, where: str, notes: list[str]) -> str | None:
    """The variable that an `api_key` names; a note where it is the key itself, which is not copied."""
    named = _VARIABLE.fullmatch(found) if isinstance(found, str) else None
    if found is not None and named is None:
        notes.append(f"{where}.api_key is not copied: put the key into a variable, and name that by api_key_env")
    return named[1] if named else None


def _openevolve_models(theirs: TheirDocument) -> tuple[list[dict[str, object]], list[str]]:
    """The models that the `llm` section names, each with what is its own and what they share; and notes."""
    notes: list[str] = []
    shared = {
        "base_url": theirs.text("llm.api_base"),
        "api_key_env": _key(theirs.anything("llm.api_key"), "llm", notes),
        "temperature": theirs.number("llm.temperature", least=-1e-9),
        "max_tokens": theirs.whole("llm.max_tokens"),
        "timeout_s": theirs.number("llm.timeout"),
    }
    entries: list[Any] = list(theirs.listed("llm.models") or [])
    for which, weight in (("primary", 1.0), ("secondary", 0.2)):
        name = theirs.text(f"llm.{which}_model")
        given = theirs.number(f"llm.{which}_model_weight", least=-1e-9)
        if name and given != 0:
            entries.append({"name": name, "weight": weight if given is None else given})
    models = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise theirs.wrong("llm.models", entry, "a list of models, each with a name")
        inner = TheirDocument(entry, "llm.models")
        own = {
            "base_url": inner.text("api_base"),
            "api_key_env": _key(inner.anything("api_key"), "llm.models", notes),
            "temperature": inner.number("temperature", least=-1e-9),
            "max_tokens": inner.whole("max_tokens"),
            "timeout_s": inner.number("timeout"),
            "weight": inner.number("weight", least=-1e-9),
        }
        model = {"model": inner.text("name"), **_known(shared), **_known(own)}
        notes += _not_taken(inner, "llm.models")
        models.append({key: value for key, value in model.items() if (key, value) != ("base_url", _OPENAI)})
    return models, list(dict.fromkeys(notes))


def _shinka_model(name: str, max_tokens: int | None) -> dict[str, object]:
    """A model of ShinkaEvolve; one of a server of one's own has the address in its name."""
    local = _LOCAL_MODEL.fullmatch(name)
    model: dict[str, object] = {"model": name}
    if local is not None:
        model = {"model": local[1], "base_url": local[2], "api_key_env": None}
    return model if max_tokens is None else {**model, "max_tokens": max_tokens}


def _seconds(theirs: TheirDocument, key: str) -> float | None:
    """The seconds of a time such as 00:10:00. Raises InputError."""
    found = theirs.anything(key)
    if found is None:
        return None
    parts = str(found).split(":")
    if isinstance(found, bool) or len(parts) > 3 or not all(part.isdecimal() and len(part) < 7 for part in parts):
        raise theirs.wrong(key, found, "a time such as 00:10:00")
    seconds = sum(int(part) * 60**place for place, part in enumerate(reversed(parts)))
    if seconds == 0:
        raise theirs.wrong(key, found, "a time above 0")
    return float(seconds)
