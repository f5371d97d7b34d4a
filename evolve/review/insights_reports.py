"""The insights reports of a run: their citations, the proposals that got their recommendations, and the outcomes."""

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
from evolve.review.texts import counted
from evolve.trust import stored_config


def report_at(meta: MetaRecord, programs: int | None) -> int | None:
    """The report in force after `programs` programs (None: now), by its own number of programs; None before the first
    report."""
    return max((number for number in meta.reports if programs is None or number <= programs), default=None)


class Effects:
    """The outcomes of the recommendations in one archive's reports."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._history = History(archive)
        self._facts = FactReader(archive)

    def of(self, report: InsightsReport) -> list[tuple[Recommendation, list[Trial]]]:
        """Each recommendation with the generations that got it, also from other reports."""
        recommendations = report.recommendations
        return list(zip(recommendations, self._history.trials(recommendations), strict=True))

    def describe(self, trials: Iterable[Trial]) -> str:
        """The outcomes of a recommendation, in words and figures."""
        trials, archive = list(trials), self._archive
        ended = [trial.generation for trial in trials if trial.status not in OPEN]
        return describe_trials(trials, {n: self._facts.ended(archive.ended_generation(n)) for n in ended})


def recommendation_followed(archive: RunReader, generation: int) -> str | None:
    """The recommendation in the last prompt of a generation, in one sentence; None without one."""
    given = recommendation_of(archive.attempts(generation))
    if given is None:
        return None
    programs, number = given
    where = f"recommendation {number} of the insights report after {programs} programs"
    recommendations = archive.meta.reports[programs].recommendations
    return f"{where}: {shown(recommendations[number - 1].whole)}" if 0 < number <= len(recommendations) else where


def absence(meta: MetaRecord, *, programs: int, every: int, at: int | None) -> str:
    """Why there is no report (or was none after `at` programs), and when the first comes or came."""
    first = min(meta.reports, default=None)
    if first is not None:
        return f"there was no insights report after {counted(at or 0, 'program')}; the first came after {first}"
    due = f"the first is due after {meta.begun + every} programs, and there are {programs}"
    if meta.problems:
        return f"there is no insights report yet: the last round, after {meta.begun} programs, failed; {due}"
    return f"there is no insights report yet: {due}"


def failures(meta: MetaRecord) -> list[str]:
    """Why the last round gave no report, a sentence for each reason; empty if it gave one."""
    return [f"The last round, after {meta.begun} programs, gave no report: {problem}" for problem in meta.problems]


def insights_json(meta: MetaRecord, number: int | None, effects: Effects, *, next_at: int) -> dict[str, Any]:
    """The parts of the report after `number` programs. `problems` are the last round's, `corrections` this report's."""
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
                "outcome": effects.describe(trials),
            }
            for place, (each, trials) in enumerate(effects.of(report), 1)
        ],
        "outcomes": list(report.outcomes),
    }


def _summary(summary: ProgramSummary) -> dict[str, Any]:
    texts = {name: shown(getattr(summary, name)) for name in ("implementation", "performance", "feedback")}
    return summary.model_dump(include={"generation", "patch_name", "correct", "name"}) | texts


Ends = Mapping[int, tuple[str, float | None]]
"""The mark and the gain of each generation."""


def timeline(archive: RunReader, ends: Ends) -> list[dict[str, Any]]:
    """Every report in order: its summaries, insights and recommendations with their outcomes, and its statements about
    earlier recommendations (`outcomes`). `text` is the report itself, for people."""
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
                    "sentence": effects.describe(trials),
                }
                for number, (each, trials) in enumerate(effects.of(report), 1)
            ],
            "outcomes": list(report.outcomes),
        }
        for programs, report in sorted(meta.reports.items())
    ]


def missing_reports(archive: RunReader) -> dict[str, Any]:
    """In the words of `evolve insights`: `absence`, why there is no report yet and when the first is due (None if there
    is one), and `failures`, why the last round gave none."""
    meta, absent = archive.meta, None
    if not meta.reports:
        try:
            every = stored_config(archive).meta_every
        except InputError:  # `config_json` reports it
            absent = "there is no insights report yet"
        else:
            absent = absence(meta, programs=len(archive.programs), every=every, at=None)
    return {"absence": absent, "failures": failures(meta)}


def _in_short(summary: ProgramSummary) -> dict[str, Any]:
    text = shown(summary.implementation)
    return {"generation": summary.generation, "name": summary.name, "correct": summary.correct, "text": text}


def _outcome(trial: Trial, mark: str, change: float | None) -> dict[str, Any]:
    return {"generation": trial.generation, "mark": mark, "change": change, "followed": trial.followed}
