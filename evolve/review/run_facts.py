"""A run's calls, sessions and configuration, as plain values for JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from evaluator.untrusted import one_line
from evolve.archive.calls import CALLING, Call
from evolve.archive.events import document_of
from evolve.archive.reader import RunReader
from evolve.core.completion import MetaKey
from evolve.core.config import Config
from evolve.core.errors import InputError
from evolve.propose.troubles import silent_after_s
from evolve.review.calls import KINDS, with_kinds
from evolve.search.stopping import end_text
from evolve.trust import stored_config


class RunCall(NamedTuple):
    """One HTTP attempt, with what it was for (a key of KINDS) and the model that it was sent to."""

    kind: str
    model: str
    call: Call


def all_calls(archive: RunReader) -> list[RunCall]:
    """Every HTTP attempt, for proposals and then for insights reports."""
    found = []
    for generation in archive.statuses:
        for attempt in archive.attempts(generation):
            asked = [(attempt, archive.http_attempts(attempt, attempt.key))]
            found += [RunCall(kind, attempt.model, call) for kind, call in with_kinds(asked)]
    for key in archive.accounts.calls:
        if isinstance(key, MetaKey):
            answer, model = archive.chronicle.meta_answers.get(key), archive.calls(key)[0].model
            found += [RunCall("insights", model, call) for call in archive.http_attempts(answer, key)]
    return found


def calls_by_kind(calls: Sequence[RunCall]) -> list[dict[str, Any]]:
    """How many calls were for what, and what those took; no row for what was not called."""
    groups = {kind: [one.call for one in calls if one.kind == kind] for kind in KINDS}
    return [{"kind": kind} | _totals(found) for kind, found in groups.items() if found]


def calls_json(archive: RunReader) -> dict[str, Any]:
    """How the calls to models ended, how long answers took, and what each model cost."""
    calls = all_calls(archive)
    models: dict[str, list[Call]] = {}
    for one in calls:
        models.setdefault(one.model, []).append(one.call)
    of_models = [{"model": model} | _totals(found) for model, found in sorted(models.items())]
    open_still = "under way" if archive.running else "cut off"
    status = Counter(open_still if one.call.status == CALLING else one.call.status for one in calls)
    return _totals([one.call for one in calls]) | {
        "by_status": dict(sorted(status.items())),
        "kinds": calls_by_kind(calls),
        "models": of_models,
        "said": _said([one.call for one in calls]),
        "adapted": adaptations(archive),
    }


_MOST_SAID: Final = 5


def _said(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """What servers said where calls failed, the most frequent first: how many calls heard it, at most five of each
    status."""
    heard = Counter((call.status, one_line(call.message, 400)) for call in calls if call.message)
    shown: Counter[str] = Counter()
    found = []
    for (status, message), count in heard.most_common():
        shown[status] += 1
        if shown[status] <= _MOST_SAID:
            found.append({"status": status, "message": message, "calls": count})
    return found


def troubles_json(archive: RunReader, *, running: bool) -> list[dict[str, Any]]:
    """The models whose last calls failed, or (`silent`) have no answer: of those that failed since its last answer how
    many there are, what the server said last, when (`t`), and when a request is sent again (`next_t`); of a silence
    when it began, from when on it is one (`shown_t`), and when its request is given up (`gives_up_t`)."""
    accounts = archive.accounts
    failing, next_tries = accounts.failing, accounts.next_tries()
    found = [
        {"model": model, "status": last.status, "message": one_line(last.message, 400), "t": last.t}
        | {"failed": len(earlier) + 1, "next_t": next_tries.get(model) if running else None}
        for model, (*earlier, last) in failing.items()
    ]
    for model, event in (accounts.unanswered() if running else {}).items():
        if model not in failing:
            silent = {"model": model, "status": "silent", "message": "no answer", "t": event.t, "failed": 0}
            gives_up_t = None if event.limit_s is None else event.t + event.limit_s
            shown_t = event.t + silent_after_s(accounts.longest_s.get(model, 0.0))
            found.append(silent | {"shown_t": shown_t, "gives_up_t": gives_up_t})
    return found


def adaptations(archive: RunReader) -> list[str]:
    """What is asked of models otherwise than they are configured, since their endpoints want it so."""
    return [f"{one.model}: {one}" for one in archive.chronicle.adaptations]


def _totals(calls: Sequence[Call]) -> dict[str, Any]:
    """What calls took together. Those without an end count in `total` alone: what is kept for them is not spent yet."""
    ended = [call for call in calls if call.status != CALLING]
    latencies = sorted(call.usage.latency_s for call in calls if call.usage.latency_s > 0)
    costs = [call.usage.cost_usd for call in ended]
    unanswered = [call.usage.cost_usd for call in ended if not call.answered]
    return {
        "total": len(calls),
        "by_status": dict(sorted(Counter(call.status for call in calls).items())),
        "latency_s": None if not latencies else {"median": _rank(latencies, 0.5), "p95": _rank(latencies, 0.95)},
        "tokens_in": sum(call.usage.tokens_in for call in ended),
        "tokens_out": sum(call.usage.tokens_out for call in ended),
        "tokens_cached": sum(call.usage.tokens_cached for call in ended),
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
    text = archive.config_text()
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
    """Whether a run goes on, or how it ended, in words."""
    return end_text(finished) if finished else "running" if running else "killed"


def sessions_json(archive: RunReader) -> list[dict[str, Any]]:
    """How the run was begun, went on and ended."""
    told = {"reason", "changed", "identity", "rescore"}
    return [
        {"t": one.t, "event": one.event, "detail": {k: v for k, v in document_of(one).items() if k in told}}
        for one in archive.chronicle.sessions
    ]


def notes_json(archive: RunReader, generation: int | None = None) -> list[dict[str, Any]]:
    """What people wrote beside the generations, or beside one."""
    return [
        {"t": note.t, "generation": note.generation, "text": note.text}
        for note in archive.chronicle.notes
        if generation in (None, note.generation)
    ]
