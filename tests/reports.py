"""Insights reports as code makes them of texts, for tests that need one."""

from collections.abc import Mapping, Sequence

from evolve.archive.reports import (
    Citation,
    Insight,
    InsightsReport,
    ProgramSummary,
    Recommendation,
    Round,
    Scratchpad,
)
from evolve.insights.answers import clean_body, clean_line
from evolve.insights.citations import insights, recommendation, resolved
from evolve.insights.facts import Fact


def report(
    facts: Mapping[int, Fact],
    *,
    summaries: Mapping[int, str] | None = None,
    sections: Sequence[str] = ("", "", "", ""),
    recommendations: Sequence[str] = (),
    warning: str = "",
) -> InsightsReport:
    """A report of texts by anybody, cleaned, with the citations in them resolved. `summaries` by generation."""
    lines = {generation: clean_line(text) for generation, text in (summaries or {}).items()}
    first, second, third, fourth = (insights(clean_body(section), facts) for section in sections)
    return InsightsReport(
        warning=clean_line(warning),
        summaries=tuple(
            ProgramSummary(
                generation=generation,
                patch_name=clean_line(text, 200) or "a_patch",
                correct=True,
                name=clean_line(text, 200),
                implementation=resolved(text, facts),
                performance=resolved(f"[gen {generation}]", facts),
                feedback=resolved(text, facts),
            )
            for generation, text in lines.items()
        ),
        scratchpad=Scratchpad(sections=(first, second, third, fourth)),
        recommendations=tuple(recommendation(clean_line(text), facts) for text in recommendations),
    )


def citing(generation: int) -> Round:
    """A round whose report has something everywhere, and cites a generation."""
    cited = Citation(generations=(generation,), shown=f"generation {generation}")
    summary = ProgramSummary(
        generation=1,
        patch_name="wider",
        correct=True,
        name="First",
        implementation=("it swaps",),
        performance=("good",),
        feedback=("none",),
    )
    return Round(
        report=InsightsReport(
            summaries=(summary,),
            scratchpad=Scratchpad(sections=((Insight(mark="- ", text=("Swapping gained: ", cited)),), (), (), ())),
            recommendations=(Recommendation(text=("Go on from ", cited, ".")),),
        )
    )


def recommending(*recommendations: str, corrections: Sequence[str] = ()) -> Round:
    """A round whose report holds nothing but recommendations."""
    return Round(report=report({}, recommendations=recommendations), corrections=tuple(corrections))
