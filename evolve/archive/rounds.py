"""Where the meta-summarizer stands after each of its events. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evolve.archive.records import MetaRecord


def after(meta: MetaRecord, event: Mapping[str, Any], t: float) -> MetaRecord:
    """What the record says once `event`, written at `t` (wall seconds), is on it.

    A round that was cut off and begins again keeps the answers that were paid for, and so does one that closed a
    session: it is no part of the search, and leaves the next round where it was.
    """
    match event["event"]:
        case "summarising":
            return replace(meta, begun=event["programs"], position=event["position"])
        case "meta_answered":
            return replace(meta, answers={**meta.answers, event["key"]: event})
        case "closed":
            return _with_document(replace(meta, closings=(*meta.closings, event["programs"])), event, t)
    state = {"state": event["state"], "problems": tuple(event["problems"]), "answers": {}}
    shown = meta.shown if event["document"] is None else event["programs"]
    return _with_document(replace(meta, begun=event["programs"], shown=shown, position=None, **state), event, t)


def _with_document(meta: MetaRecord, event: Mapping[str, Any], t: float) -> MetaRecord:
    programs, document = event["programs"], event["document"]
    if document is None:
        return meta
    return replace(
        meta,
        documents={**meta.documents, programs: document},
        corrections={**meta.corrections, programs: tuple(event["corrections"])},
        written={**meta.written, programs: t},
    )
