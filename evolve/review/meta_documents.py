"""What a run has learnt: its reports with what they cite, which prompts they went into, and what came of it."""

from collections.abc import Iterable, Mapping
from typing import Any

from evolve.archive.reader import RunReader
from evolve.archive.records import OPEN, MetaRecord
from evolve.archive.reports import (
    SECTIONS,
    InsightsReport,
    ProgramSummary,
    Recommendation,
    body,
    generations_of,
    markdown,
    shown,
)
from evolve.core.errors import InputError
from evolve.insights.facts import FactReader
from evolve.insights.outcomes import History, Trial, describe_trials, recommendation_of
from evolve.trust import stored_config


def document_at(meta: MetaRecord, programs: int | None) -> int | None:
    """The report in force when a run had so many programs (None: now), by its own number of programs; None when
    there was none yet."""
    return max((number for number in meta.reports if programs is None or number <= programs), default=None)


class Effects:
    """What came of the recommendations of one archive's reports."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._history = History(archive)
        self._facts = FactReader(archive)

    def of(self, report: InsightsReport) -> list[tuple[Recommendation, list[Trial]]]:
        """Each recommendation with the generations that it was handed to, those in other reports too."""
        given = report.recommendations
        return list(zip(given, self._history.trials(given), strict=True))

    def told(self, trials: Iterable[Trial]) -> str:
        """What came of a recommendation, in words and figures."""
        trials, archive = list(trials), self._archive
        ended = [trial.generation for trial in trials if trial.status not in OPEN]
        return describe_trials(trials, {one: self._facts.ended(archive.ended_generation(one)) for one in ended})


def recommendation_followed(archive: RunReader, generation: int) -> str | None:
    """The recommendation that the last prompt of a generation held, in one sentence; None without one."""
    given = recommendation_of(archive.attempts(generation))
    if given is None:
        return None
    programs, number = given
    where = f"recommendation {number} of the insights report after {programs} programs"
    known = archive.meta.reports[programs].recommendations
    return f"{where}: {shown(known[number - 1].whole)}" if 0 < number <= len(known) else where


def absence(meta: MetaRecord, *, programs: int, every: int, at: int | None) -> str:
    """Why there is no document (or was none when there were `at` programs), and when the first comes or came."""
    first = min(meta.reports, default=None)
    if first is not None:
        when = f"{at} program{'s' * (at != 1)}"
        return f"there was no insights report when the run had {when}; the first came after {first}"
    due = f"the first is due after {meta.begun + every} programs, and there are {programs}"
    if meta.problems:
        return f"there is no insights report yet: the last round, after {meta.begun} programs, failed; {due}"
    return f"there is no insights report yet: {due}"


def failures(meta: MetaRecord) -> list[str]:
    """That the last round gave no document, and why, a sentence for each reason; empty where it gave one."""
    return [f"The last round, after {meta.begun} programs, gave no report: {problem}" for problem in meta.problems]


def insights_json(meta: MetaRecord, number: int | None, effects: Effects, *, next_at: int) -> dict[str, Any]:
    """The report after `number` programs, in parts. `problems` are the last round's, `corrections` this report's."""
    report = InsightsReport() if number is None else meta.reports[number]
    pad = report.scratchpad
    sections = {
        title.lower().replace(" ", "_"): shown(body(points))
        for title, points in zip(SECTIONS, pad.sections, strict=True)
    }
    return {
        "document": number,
        "documents": sorted(meta.reports),
        "next_at": next_at,
        "warning": report.warning,
        "problems": list(meta.problems),
        "corrections": [] if number is None else list(meta.corrections[number]),
        "summaries": list(map(_summary, report.summaries)),
        "scratchpad": None if number is None else {"preface": shown(pad.preface), **sections},
        "recommendations": [
            {
                "number": place,
                "text": shown(each.whole),
                "generations": [trial.generation for trial in trials],
                "followed": [trial.followed for trial in trials],
                "outcome": effects.told(trials),
            }
            for place, (each, trials) in enumerate(effects.of(report), 1)
        ],
        "outcomes": list(report.outcomes),
    }


def _summary(summary: ProgramSummary) -> dict[str, Any]:
    texts = {name: shown(getattr(summary, name)) for name in ("implementation", "performance", "feedback")}
    return summary.model_dump(include={"generation", "patch_name", "correct", "name"}) | texts


Ends = Mapping[int, tuple[str, float | None]]
"""How generations ended: the mark of each, and by how much it is better than what it is measured against."""


def timeline(archive: RunReader, ends: Ends) -> list[dict[str, Any]]:
    """Every report in order: what it summarises, its insights and recommendations with what came of them, and what it
    says of the ones before (`outcomes`). `text` is the report itself, for people."""
    effects, meta = Effects(archive), archive.meta
    return [
        {
            "after": programs,
            "t": meta.written[programs],
            "text": markdown(report),
            "corrections": list(meta.corrections[programs]),
            "warning": report.warning,
            "summary": [_in_short(summary) for summary in report.summaries],
            "insights": [
                {"title": title, "text": shown(point.text), "citations": generations_of(point.text)}
                for title, points in zip(SECTIONS, report.scratchpad.sections, strict=True)
                for point in points
                if point.text
            ],
            "recommendations": [
                {
                    "number": number,
                    "text": shown(each.whole),
                    "citations": generations_of(each.whole),
                    "given_to": [trial.generation for trial in trials],
                    "outcomes": [_outcome(trial, *ends[trial.generation]) for trial in trials],
                    "told": effects.told(trials),
                }
                for number, (each, trials) in enumerate(effects.of(report), 1)
            ],
            "outcomes": list(report.outcomes),
        }
        for programs, report in sorted(meta.reports.items())
    ]


def standing(archive: RunReader) -> dict[str, Any]:
    """In the words of `evolve insights`: `absence`, why there is no document yet and when the first is due (None where
    there is one), and `failures`, why the last round gave none."""
    meta, absent = archive.meta, None
    if not meta.reports:
        try:
            every = stored_config(archive).meta_every
        except InputError:  # `config` of a run document says what is wrong with it
            absent = "there is no insights report yet"
        else:
            absent = absence(meta, programs=len(archive.programs), every=every, at=None)
    return {"absence": absent, "failures": failures(meta)}


def _in_short(summary: ProgramSummary) -> dict[str, Any]:
    text = shown(summary.implementation)
    return {"generation": summary.generation, "name": summary.name, "correct": summary.correct, "text": text}


def _outcome(trial: Trial, mark: str, change: float | None) -> dict[str, Any]:
    return {"generation": trial.generation, "mark": mark, "change": change, "followed": trial.followed}
