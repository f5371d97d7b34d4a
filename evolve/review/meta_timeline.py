"""The meta documents of a run as data: insights with what they cite, recommendations with what came of them."""

import re
from collections.abc import Mapping
from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.errors import DocumentError, InputError
from evolve.guidance.history import Trial
from evolve.meta.citations import CITATION, with_citations
from evolve.meta.document import SECTIONS, Document, parse
from evolve.review.facts import GenerationFacts
from evolve.review.meta_documents import Effects, absence, failures
from evolve.trust import stored_config

_CITED: Final = re.compile(CITATION, re.IGNORECASE)
_POINT: Final = re.compile(r"^[^\S\n]*+(?:[-*]|\d++[.)])\s+", re.MULTILINE)
_DIGITS: Final = 9  # of a generation's number


def cited(text: str) -> list[int]:
    """The generations that a text of a document cites, in order, each once."""
    found = (number for citation in _CITED.findall(with_citations(text)) for number in re.findall(r"\d+", citation))
    return list(dict.fromkeys(int(number) for number in found if len(number) <= _DIGITS))


def timeline(archive: Archive, facts: Mapping[int, GenerationFacts]) -> list[dict[str, Any]]:
    """Every document in order: what it summarises, its insights and recommendations with what came of them, and what it
    tells of the ones before (`outcomes`). `text` is the document itself, and all there is of one that cannot be parsed
    (`problem` says why)."""
    effects = Effects(archive)
    found = []
    for programs, blob in sorted(archive.meta.documents.items()):
        text = archive.text(blob)
        entry = {"after": programs, "t": archive.meta.written[programs], "text": text, "problem": None}
        entry["corrections"] = list(archive.meta.corrections.get(programs, ()))
        try:
            document = parse(text)
        except DocumentError as problem:
            entry |= {"problem": str(problem), "summary": [], "insights": [], "recommendations": [], "outcomes": []}
        else:
            entry |= _parsed(document, effects, facts)
        found.append(entry)
    return found


def standing(archive: Archive) -> dict[str, Any]:
    """In the words of `evolve insights`: `absence`, why there is no document yet and when the first is due (None where
    there is one), and `failures`, why the last round gave none."""
    meta, absent = archive.meta, None
    if not meta.documents:
        try:
            every = stored_config(archive).meta_every
        except InputError:  # `config` of a run document says what is wrong with it
            absent = "there is no meta document yet"
        else:
            absent = absence(meta, programs=len(archive.programs), every=every, at=None)
    return {"absence": absent, "failures": failures(meta)}


def _parsed(document: Document, effects: Effects, facts: Mapping[int, GenerationFacts]) -> dict[str, Any]:
    insights = [
        {"title": title, "text": point, "citations": cited(point)}
        for title, body in zip(SECTIONS, document.scratchpad.sections, strict=True)
        for point in points(body)
    ]
    recommendations = [
        {
            "number": number,
            "text": text,
            "citations": cited(text),
            "given_to": [trial.generation for trial in trials],
            "outcomes": [_outcome(trial, facts[trial.generation]) for trial in trials],
            "told": effects.told(trials),
        }
        for number, (text, trials) in enumerate(effects.of(document), 1)
    ]
    summary = [
        {"generation": one.generation, "name": one.name, "correct": one.correct, "text": one.implementation}
        for one in document.summaries
    ]
    return {
        "warning": document.warning,
        "summary": summary,
        "insights": insights,
        "recommendations": recommendations,
        "outcomes": list(document.outcomes),
    }


def _outcome(trial: Trial, fact: GenerationFacts) -> dict[str, Any]:
    return {"generation": fact.n, "mark": fact.mark, "change": fact.change, "followed": trial.followed}


def points(body: str) -> list[str]:
    """The points of a section: its list items, or its paragraphs where it has no list."""
    pieces = _POINT.split(body) if _POINT.search(body) else re.split(r"\n\s*\n", body)
    return [piece.strip() for piece in pieces if piece.strip()]
