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
from evolve.review.texts import counted
from evolve.search.stopping import end_text
from evolve.trust import stored_config


class RunCall(NamedTuple):
    """One HTTP attempt, with its kind (a key of KINDS) and its model."""

    kind: str
    model: str
    call: Call


def all_calls(archive: RunReader) -> list[RunCall]:
    """Every HTTP attempt, for proposals and then for insights reports."""
    calls = []
    for generation in archive.statuses:
        for attempt in archive.attempts(generation):
            asked = [(attempt, archive.http_attempts(attempt, attempt.key))]
            calls += [RunCall(kind, attempt.model, call) for kind, call in with_kinds(asked)]
    for key in archive.accounts.calls:
        if isinstance(key, MetaKey):
            answer, model = archive.timeline.meta_answers.get(key), archive.calls(key)[0].model
            calls += [RunCall("insights", model, call) for call in archive.http_attempts(answer, key)]
    return calls


def calls_by_kind(calls: Sequence[RunCall]) -> list[dict[str, Any]]:
    """The number and the cost of the calls of each kind; no row for a kind without calls."""
    groups = {kind: [sent.call for sent in calls if sent.kind == kind] for kind in KINDS}
    return [{"kind": kind} | _totals(group) for kind, group in groups.items() if group]


def calls_json(archive: RunReader) -> dict[str, Any]:
    """How the calls to models ended, their latency, and each model's cost."""
    calls = all_calls(archive)
    models: dict[str, list[Call]] = {}
    for sent in calls:
        models.setdefault(sent.model, []).append(sent.call)
    of_models = [{"model": model} | _totals(group) for model, group in sorted(models.items())]
    open_still = "under way" if archive.running else "cut off"
    status = Counter(open_still if sent.call.status == CALLING else sent.call.status for sent in calls)
    return _totals([sent.call for sent in calls]) | {
        "by_status": dict(sorted(status.items())),
        "kinds": calls_by_kind(calls),
        "models": of_models,
        "said": _server_messages([sent.call for sent in calls]),
        "adapted": adaptations(archive),
    }


_MOST_MESSAGES: Final = 5


def _server_messages(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """The servers' messages about failed calls with their counts, the most frequent first, at most five of each
    status."""
    messages = Counter((call.status, one_line(call.message, 400)) for call in calls if call.message)
    shown: Counter[str] = Counter()
    rows = []
    for (status, message), count in messages.most_common():
        shown[status] += 1
        if shown[status] <= _MOST_MESSAGES:
            rows.append({"status": status, "message": message, "calls": count})
    return rows


def troubles_json(archive: RunReader, *, running: bool) -> list[dict[str, Any]]:
    """The models in trouble. Of a model whose last calls failed: how many since its last answer (`failed`), the
    server's last message and its time (`t`), and the time of the next try (`next_t`). Of a model that does not answer
    (`silent`): when the request was sent (`t`), when the silence is unusual (`shown_t`), and when the request is given
    up (`gives_up_t`)."""
    accounts = archive.accounts
    failing, next_tries = accounts.failing, accounts.next_tries()
    troubles = [
        {"model": model, "status": last.status, "message": one_line(last.message, 400), "t": last.t}
        | {"failed": len(earlier) + 1, "next_t": next_tries.get(model) if running else None}
        for model, (*earlier, last) in failing.items()
    ]
    for model, event in (accounts.unanswered() if running else {}).items():
        if model not in failing:
            silent = {"model": model, "status": "silent", "message": "no answer", "t": event.t, "failed": 0}
            gives_up_t = None if event.limit_s is None else event.t + event.limit_s
            shown_t = event.t + silent_after_s(accounts.longest_s.get(model, 0.0))
            troubles.append(silent | {"shown_t": shown_t, "gives_up_t": gives_up_t})
    return troubles


def adaptations(archive: RunReader) -> list[str]:
    """The changes to requests that endpoints required, one per model and parameter."""
    return [f"{adaptation.model}: {adaptation}" for adaptation in archive.timeline.adaptations]


def _totals(calls: Sequence[Call]) -> dict[str, Any]:
    """The cost of calls together. Calls without an end count in `total` only: the amount reserved is not spent yet."""
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
    """The smallest value that at least this share of the sorted values does not exceed (the nearest rank)."""
    index = min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))
    return ordered[index]


def config_json(archive: RunReader) -> dict[str, Any]:
    """The configuration in force, its changes from the defaults ([key, default, value]), and its limit of `generations`
    (None: no such limit). `problem` says why the latter two are unknown, if they are."""
    text = archive.config_text()
    try:
        config = stored_config(archive)
    except InputError as unreadable:
        return {"text": text, "changed": [], "generations": None, "problem": str(unreadable)}
    default = flat(Config().model_dump(mode="json"))
    own = flat(config.model_dump(mode="json"))
    keys = sorted(default.keys() | own.keys(), key=lambda key: (key not in default, key))
    changed = [[key, default.get(key), own.get(key)] for key in keys if default.get(key) != own.get(key)]
    return {"text": text, "changed": changed, "generations": config.generations, "problem": None}


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A configuration by dotted keys; a model's under its name, `models.NAME.KEY`."""
    flattened: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            flattened |= flat(value, f"{prefix}{key}.")
        elif key == "models" and not prefix:
            for model in value:
                name = model["name"] or model["model"]
                flattened |= flat({k: v for k, v in model.items() if k != "name"}, f"models.{name}.")
        else:
            flattened[f"{prefix}{key}"] = value
    return flattened


def how_it_stands(finished: str | None, *, running: bool) -> str:
    """The state of a run in words: running, or how it ended."""
    return end_text(finished) if finished else "running" if running else "killed"


def outcomes_text(archive: RunReader) -> str:
    """How many proposals had each outcome: `27 programs, 13 duplicates`; empty without proposals."""
    names = {"evaluated": "program", "duplicate": "duplicate", "refused": "refused", "failed": "without an answer"}
    names["machine_lost"] = "left to `resume`"
    outcomes = Counter(names.get(archive.statuses[number].value, "unfinished") for number in proposals(archive))
    nouns = ("program", "duplicate")
    counts = [counted(count, name) if name in nouns else f"{count} {name}" for name, count in outcomes.most_common()]
    return ", ".join(counts)


def proposals(archive: RunReader) -> list[int]:
    """The numbers of the proposals that were begun: all generations but the initial program's."""
    return [generation for generation in archive.statuses if generation > 0]


def sessions_json(archive: RunReader) -> list[dict[str, Any]]:
    """The events at which the run began, resumed and ended."""
    shown = {"reason", "changed", "identity", "rescore"}
    return [
        {
            "t": session.t,
            "event": session.event,
            "detail": {k: v for k, v in document_of(session).items() if k in shown},
        }
        for session in archive.timeline.sessions
    ]


def notes_json(archive: RunReader, generation: int | None = None) -> list[dict[str, Any]]:
    """The notes of people: all, or those on one generation."""
    return [
        {"t": note.t, "generation": note.generation, "text": note.text}
        for note in archive.timeline.notes
        if generation in (None, note.generation)
    ]
