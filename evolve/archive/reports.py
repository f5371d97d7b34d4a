"""An insights report as data and as Markdown. The events `summarised` and `closed` hold it.

A text is a tuple of pieces: prose, and citations, each with the statement that code puts in its place. `shown` is the
text with the statements, for people and for the prompts of proposals; `cited` is the text with the citations, for a
model that revises it. Nothing is parsed from either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from evaluator.input_files import Section
from evaluator.untrusted import block
from evolve.archive.lines import MAX_CUT, MAX_ITEMS, MAX_NUMBER
from evolve.core.completion import MetaStep

SUMMARIES: Final = "INDIVIDUAL PROGRAM SUMMARIES"
SCRATCHPAD: Final = "GLOBAL INSIGHTS SCRATCHPAD"
RECOMMENDATIONS: Final = "META RECOMMENDATIONS"
OUTCOMES: Final = "OUTCOMES OF EARLIER RECOMMENDATIONS"
SECTIONS: Final = (
    "Successful Algorithmic Patterns",
    "Ineffective Approaches",
    "Implementation Insights",
    "Performance Analysis",
)
_INTROS: Final = {
    SUMMARIES: "What each program evaluated since the last report does, and how it performed:",
    SCRATCHPAD: "What the run as a whole has taught so far:",
    RECOMMENDATIONS: "What the next proposals should try:",
}

Number = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
String = Annotated[str, Field(max_length=MAX_CUT)]
_LIST = Field(strict=False, max_length=MAX_ITEMS)  # a list in JSON is a tuple here


class Citation(Section):
    """A generation, several as the steps from the first to the last, or (`figure`) one figure of a generation or an
    instance (`instance 3`) on which it is the best. `shown` is the statement of code."""

    generations: Annotated[tuple[Number, ...], _LIST]
    figure: String = ""
    shown: String

    @property
    def cited(self) -> str:
        """The citation as a model writes it."""
        return citation_text(self.generations, self.figure)


Text = Annotated[tuple[String | Citation, ...], _LIST]
Strings = Annotated[tuple[String, ...], _LIST]


class ProgramSummary(Section):
    """What one program does and how it performed. Generation, patch name and correctness come from the record, never
    from a model; code states the performance."""

    generation: Number
    patch_name: String
    correct: bool
    name: String = ""
    implementation: Text = ()
    performance: Text = ()
    feedback: Text = ()

    @property
    def whole(self) -> Text:
        """Its block in the report."""
        return (
            f"**Program Name: {self.name}**\n- **Implementation**: ",
            *self.implementation,
            "\n- **Performance**: ",
            *self.performance,
            "\n- **Feedback**: ",
            *self.feedback,
            f"\n**Program Identifier:** Generation {self.generation} - Patch Name {self.patch_name} - "
            f"Correct Program: {self.correct}",
        )


class Insight(Section):
    """One point of a section, such as a list item. `mark` is the text between it and the point before it."""

    mark: String = ""
    text: Text


Insights = Annotated[tuple[Insight, ...], _LIST]


def body(insights: Iterable[Insight]) -> Text:
    """All points of a section, one after the other."""
    return tuple(piece for insight in insights for piece in (insight.mark, *insight.text))


class Scratchpad(Section):
    """What the run as a whole has taught: the insights under each of SECTIONS, in that order."""

    preface: Text = ()
    sections: Annotated[tuple[Insights, Insights, Insights, Insights], Field(strict=False)] = ((), (), (), ())

    @property
    def whole(self) -> Text:
        """The scratchpad without its heading, as it stands in the report and in prompts."""
        parts: list[Text] = [self.preface] if self.preface else []
        for title, insights in zip(SECTIONS, self.sections, strict=True):
            parts.append((f"## {title}\n", *body(insights)) if insights else (f"## {title}",))
        return joined(parts, "\n\n")


class Recommendation(Section):
    """What a proposal should try: a title in bold, if there is one, and the text that follows it."""

    title: Text = ()
    text: Text

    @property
    def whole(self) -> Text:
        """Title and text, as in the report and in prompts."""
        return ("**", *self.title, "**", *self.text) if self.title else self.text


class InsightsReport(Section):
    """One insights report. `warning` is for its readers: no prompt holds it. `outcomes` are the results of earlier
    recommendations, a line each."""

    warning: String = ""
    summaries: Annotated[tuple[ProgramSummary, ...], _LIST] = ()
    scratchpad: Scratchpad = Scratchpad()
    recommendations: Annotated[tuple[Recommendation, ...], _LIST] = ()
    outcomes: Strings = ()


class Problem(Section):
    """Why a question of a round has no usable answer, for each `generation` to summarise or for the insights; or why
    the whole report could not be kept."""

    step: Annotated[MetaStep, Field(strict=False)] | Literal["report"]
    part: Number = 1
    attempt: Number = 0
    generation: Number | None = None
    why: String


class Round(Section):
    """The end of a round that writes a report. Without a `report`, the next round takes over the `pending` summaries.
    `corrections` say what was removed from the texts of models, one line each."""

    report: InsightsReport | None = None
    pending: Annotated[tuple[ProgramSummary, ...], _LIST] = ()
    problems: Annotated[tuple[Problem, ...], _LIST] = ()
    corrections: Strings = ()

    @property
    def failures(self) -> tuple[str, ...]:
        """Why there is no report, a line each; empty if there is one."""
        return tuple(f"{problem.step}: {problem.why}" for problem in self.problems if problem.generation is None)

    @property
    def notes(self) -> tuple[str, ...]:
        """The parts of the report that are not the models' own words, one line each."""
        by_code = (problem for problem in self.problems if problem.generation is not None)
        lines = (f"Generation {problem.generation}: summarised by code ({problem.why})" for problem in by_code)
        return (*lines, *self.corrections)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaState:
    """The state between two rounds. `rounds` counts the rounds that ended, with a report or not; `pending` are the
    summaries that no report has shown."""

    rounds: int = 0
    report: InsightsReport | None = None
    pending: tuple[ProgramSummary, ...] = ()

    def after(self, ended: Round) -> Self:
        """The state after one more round."""
        return type(self)(rounds=self.rounds + 1, report=ended.report or self.report, pending=ended.pending)


def citation_text(generations: Iterable[int], figure: str = "") -> str:
    """A citation as a model writes it: `[gen 7]`, `[gen 7 > gen 12]`, `[gen 7].score`, `[instance 3]`."""
    if figure.startswith("instance "):
        return f"[{figure}]"
    named = " > ".join(f"gen {generation}" for generation in generations)
    return f"[{named}].{figure}" if figure else f"[{named}]"


def shown(text: Text) -> str:
    """A text with code's statements in the place of its citations."""
    return "".join(piece if isinstance(piece, str) else piece.shown for piece in text)


def cited(text: Text) -> str:
    """A text with its citations as a model writes them."""
    return "".join(piece if isinstance(piece, str) else piece.cited for piece in text)


def generations_of(text: Text) -> list[int]:
    """The generations that a text cites, in order, each once."""
    citations = (piece for piece in text if isinstance(piece, Citation))
    return list(dict.fromkeys(generation for citation in citations for generation in citation.generations))


def joined(texts: Iterable[Text], between: str) -> Text:
    """Texts as one, with `between` between them."""
    pieces: list[str | Citation] = []
    for text in texts:
        pieces += (between, *text) if pieces else text
    return tuple(pieces)


def numbered(recommendations: Iterable[Recommendation]) -> Text:
    """The numbered list of recommendations."""
    return joined(((f"{number}.  ", *each.whole) for number, each in enumerate(recommendations, 1)), "\n")


def markdown(report: InsightsReport) -> str:
    """The report for people, ending in one newline. Control characters are escaped: the archive may be somebody
    else's."""
    parts: list[Text] = [(f"> **WARNING**: {report.warning}",)] if report.warning else []
    parts += [(f"# {SUMMARIES}",), (_INTROS[SUMMARIES],), *(summary.whole for summary in report.summaries)]
    parts += [(f"# {SCRATCHPAD}",), (_INTROS[SCRATCHPAD],), report.scratchpad.whole]
    parts += [(f"# {RECOMMENDATIONS}",), (_INTROS[RECOMMENDATIONS],), numbered(report.recommendations)]
    if report.outcomes:
        parts += [(f"# {OUTCOMES}",), ("\n".join(f"- {text}" for text in report.outcomes),)]
    text = shown(joined(filter(None, parts), "\n\n"))
    return f"{block(text, len(text))}\n"
