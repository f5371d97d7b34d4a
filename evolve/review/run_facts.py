"""A run's calls, sessions and configuration, as plain values for JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.archive.calls import CALLING, Call, calls_of
from evolve.archive.events import Status, document_of
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord
from evolve.completion import MetaKey
from evolve.config import Config
from evolve.errors import InputError
from evolve.trust import stored_config
from evolve.usage import NOTHING


def all_calls(archive: RunReader) -> list[tuple[str, Call]]:
    """Every HTTP attempt, for proposals and then for meta documents, with the model that it was for."""
    found = []
    for generation in archive.statuses:
        for attempt in archive.attempts(generation):
            found += [(attempt.model, call) for call in calls_of(attempt, archive.calls(attempt.key))]
    for key in archive.requests:
        if isinstance(key, MetaKey):
            events = archive.calls(key)
            found += [(events[0].model, call) for call in calls_of(_meta_attempt(archive, key), events)]
    return found


def _meta_attempt(archive: RunReader, key: MetaKey) -> AttemptRecord:
    """A request of the meta-summarizer as a question without a generation; open while its round is under way."""
    event = archive.chronicle.meta_answers.get(key)
    open_still = archive.meta.position is not None and archive.running
    return AttemptRecord(
        generation=-1,
        attempt=0,
        status=Status.ANSWERED if event is not None else Status.ASKED if open_still else Status.FAILED,
        model="",
        parent="",
        prompt=None,
        answer=None if event is None else event.answer,
        reason=None,
        message=None,
        usage=NOTHING if event is None else event.usage,
        finish_reason=None if event is None else event.finish_reason,
    )


def calls_json(archive: RunReader) -> dict[str, Any]:
    """How the calls to models ended, how long answers took, and what each model cost."""
    calls = all_calls(archive)
    models: dict[str, list[Call]] = {}
    for model, call in calls:
        models.setdefault(model, []).append(call)
    of_models = [{"model": model} | _totals(found) for model, found in sorted(models.items())]
    return _totals([call for _, call in calls]) | {"models": of_models, "adapted": adaptations(archive)}


def adaptations(archive: RunReader) -> list[str]:
    """What is asked of models otherwise than they are configured, since their endpoints want it so."""
    return [f"{one.model}: {one}" for one in archive.chronicle.adaptations]


def _totals(calls: Sequence[Call]) -> dict[str, Any]:
    latencies = sorted(call.usage.latency_s for call in calls if call.usage.latency_s > 0)
    costs = [call.usage.cost_usd for call in calls]
    unanswered = [call.usage.cost_usd for call in calls if not call.answered and call.status != CALLING]
    return {
        "total": len(calls),
        "by_status": dict(sorted(Counter(call.status for call in calls).items())),
        "latency_s": None if not latencies else {"median": _rank(latencies, 0.5), "p95": _rank(latencies, 0.95)},
        "tokens_in": sum(call.usage.tokens_in for call in calls),
        "tokens_out": sum(call.usage.tokens_out for call in calls),
        "tokens_cached": sum(call.usage.tokens_cached for call in calls),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "unanswered": len(unanswered),
        "unanswered_usd": None if None in unanswered else sum(cost for cost in unanswered if cost is not None),
    }


def _rank(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (the nearest rank)."""
    index = min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))
    return ordered[index]


def config_json(archive: RunReader) -> dict[str, Any]:
    """The configuration in force, which keys differ from the defaults ([key, default, value]), and after how many
    `generations` the run stops (None: never for that). `problem` says why the latter two are not known, if so."""
    text = archive.config_text
    try:
        config = stored_config(archive)
    except InputError as unreadable:
        return {"text": text, "changed": [], "generations": None, "problem": str(unreadable)}
    default = flat(Config().model_dump(mode="json"))
    found = flat(config.model_dump(mode="json"))
    keys = sorted(default.keys() | found.keys(), key=lambda key: (key not in default, key))
    changed = [[key, default.get(key), found.get(key)] for key in keys if default.get(key) != found.get(key)]
    return {"text": text, "changed": changed, "generations": config.generations, "problem": None}


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A configuration by dotted keys; a model's under its name, `models.NAME.KEY`."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        elif key == "models" and not prefix:
            for model in value:
                name = model["name"] or model["model"]
                found |= flat({k: v for k, v in model.items() if k != "name"}, f"models.{name}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def how_it_stands(finished: str | None, *, running: bool) -> str:
    """Whether a run goes on, or why it does not."""
    return finished or ("running" if running else "cut off")


def sessions_json(archive: RunReader) -> list[dict[str, Any]]:
    """How the run was begun, went on and ended."""
    return [
        {"t": session.t, "event": session.event, "detail": _said_of(document_of(session))}
        for session in archive.chronicle.sessions
    ]


def _said_of(session: Mapping[str, Any]) -> dict[str, Any]:
    return {key: session[key] for key in ("reason", "changed", "identity", "rescore") if key in session}


def notes_json(archive: RunReader, generation: int | None = None) -> list[dict[str, Any]]:
    """What people wrote beside the generations, or beside one."""
    return [
        {"t": note.t, "generation": note.generation, "text": note.text}
        for note in archive.chronicle.notes
        if generation in (None, note.generation)
    ]
