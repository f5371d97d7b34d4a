"""What a run has learnt: its meta documents with what they cite, which prompts they went into, and what came of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from evolve.archive.reader import RunReader
from evolve.archive.records import MetaRecord
from evolve.errors import DocumentError, InputError
from evolve.evidence.facts import FactReader
from evolve.guidance.history import History, Trial, recommendation_of, told_trials
from evolve.meta.citations import CITATION, with_citations
from evolve.meta.document import SECTIONS, Document, parse
from evolve.review.facts import GenerationFacts
from evolve.review.generations import OPEN
from evolve.trust import stored_config


def document_at(meta: MetaRecord, programs: int | None) -> int | None:
    """The document in force when a run had so many programs (None: now), by its own number of programs; None when
    there was none yet."""
    return max((number for number in meta.documents if programs is None or number <= programs), default=None)


class Effects:
    """What came of the recommendations of one archive's documents."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._history = History(archive)
        self._facts = FactReader(archive)

    def of(self, document: Document) -> list[tuple[str, list[Trial]]]:
        """Each recommendation with the generations that it was handed to, those in other documents too."""
        texts = document.recommendations
        return list(zip(texts, self._history.trials(texts), strict=True))

    def told(self, trials: Iterable[Trial]) -> str:
        """What came of a recommendation, in words and figures."""
        trials, archive = list(trials), self._archive
        ended = [trial.generation for trial in trials if trial.status not in OPEN]
        return told_trials(trials, {one: self._facts.ended(archive.ended_generation(one)) for one in ended})


def recommendation_followed(archive: RunReader, generation: int) -> str | None:
    """The recommendation that the last prompt of a generation held, in one sentence; None without one."""
    given = recommendation_of(archive.attempts(generation))
    if given is None:
        return None
    programs, number = given
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


def failures(meta: MetaRecord) -> list[str]:
    """That the last round gave no document, and why, a sentence for each reason; empty where it gave one."""
    return [f"The last round, after {meta.begun} programs, gave no document: {problem}" for problem in meta.problems]


def insights_json(
    meta: MetaRecord, shown: int | None, document: Document | None, effects: Effects, *, next_at: int
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
        "outcomes": [],
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
            {
                "number": number,
                "text": text,
                "generations": [trial.generation for trial in trials],
                "followed": [trial.followed for trial in trials],
                "outcome": effects.told(trials),
            }
            for number, (text, trials) in enumerate(effects.of(document), 1)
        ],
        "outcomes": list(document.outcomes),
    }


_CITED: Final = re.compile(CITATION, re.IGNORECASE)
_POINT: Final = re.compile(r"^[^\S\n]*+(?:[-*]|\d++[.)])\s+", re.MULTILINE)
_DIGITS: Final = 9  # of a generation's number


def cited(text: str) -> list[int]:
    """The generations that a text of a document cites, in order, each once."""
    found = (number for citation in _CITED.findall(with_citations(text)) for number in re.findall(r"\d+", citation))
    return list(dict.fromkeys(int(number) for number in found if len(number) <= _DIGITS))


def timeline(archive: RunReader, facts: Mapping[int, GenerationFacts]) -> list[dict[str, Any]]:
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


def standing(archive: RunReader) -> dict[str, Any]:
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
