"""What a run has learnt: the meta document in force at a moment, and which prompts it went into."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import AttemptRecord, MetaRecord
from evolve.meta.document import SECTIONS, Document, parse


def document_at(meta: MetaRecord, programs: int | None) -> int | None:
    """The document in force when a run had so many programs (None: now), by its own number of programs; None when
    there was none yet."""
    return max((number for number in meta.documents if programs is None or number <= programs), default=None)


def uses(attempts: Iterable[AttemptRecord], document: int) -> dict[int, list[int]]:
    """For each recommendation of a document, the generations whose prompts held it, in order."""
    found: dict[int, list[int]] = {}
    for attempt in attempts:
        if attempt.guidance is not None and attempt.guidance["document"] == document:
            generations = found.setdefault(attempt.guidance["recommendation"], [])
            if attempt.generation not in generations:
                generations.append(attempt.generation)
    return {number: sorted(generations) for number, generations in sorted(found.items())}


def recommendation_followed(archive: Archive, generation: int) -> str | None:
    """The recommendation that the last prompt of a generation held, in one sentence; None without one."""
    guidance = next((a.guidance for a in reversed(archive.attempts(generation)) if a.guidance is not None), None)
    if guidance is None:
        return None
    number, programs = guidance["recommendation"], guidance["document"]
    where = f"recommendation {number} of the meta document after {programs} programs"
    try:
        document = parse(archive.text(archive.meta.documents[programs]))
    except (KeyError, ValueError):  # a round that is not on record, or a text that is no document
        return where
    texts = document.recommendations
    return f"{where}: {texts[number - 1]}" if 0 < number <= len(texts) else where


def absence(meta: MetaRecord, *, programs: int, every: int, at: int | None) -> str:
    """Why there is no document (or was none when there were `at` programs), and when the first comes or came."""
    first = min(meta.documents, default=None)
    if first is not None:
        return f"there was no meta document when the run had {at} programs; the first came after {first}"
    due = f"the first is due after {meta.begun + every} programs, and there are {programs}"
    if meta.problems:
        return f"there is no meta document yet: the last round, after {meta.begun} programs, failed; {due}"
    return f"there is no meta document yet: {due}"


def insights_json(
    meta: MetaRecord, shown: int | None, document: Document | None, used: Mapping[int, list[int]], *, next_at: int
) -> dict[str, Any]:
    """A document with its sections parsed. `problems` are the last round's, `corrections` this document's."""
    record: dict[str, Any] = {
        "document": shown,
        "documents": sorted(meta.documents),
        "next_at": next_at,
        "warning": "" if document is None else document.warning,
        "problems": list(meta.problems),
        "corrections": list(meta.corrections.get(shown, ())) if shown is not None else [],
        "summaries": [],
        "scratchpad": None,
        "recommendations": [],
    }
    if document is None:
        return record
    pad = document.scratchpad
    return record | {
        "summaries": list(map(asdict, document.summaries)),
        "scratchpad": {
            "preface": pad.preface,
            **{title.lower().replace(" ", "_"): text for title, text in zip(SECTIONS, pad.sections, strict=True)},
        },
        "recommendations": [
            {"number": number, "text": text, "generations": used.get(number, [])}
            for number, text in enumerate(document.recommendations, 1)
        ],
    }
