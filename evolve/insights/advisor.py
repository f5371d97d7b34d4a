"""What the prompt of a generation is given of what the run has learnt: a function of the record."""

from collections.abc import Collection, Sequence

from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import shown
from evolve.core.errors import ArchiveError
from evolve.insights.citations import score_text
from evolve.insights.outcomes import History, Trial, failed_on, followed_by, guidance_of, title_of
from evolve.proposal import Guidance


class Advisor:
    """Hands out the recommendations of the report in force."""

    def __init__(self, archive: RunReader, history: History) -> None:
        self._archive = archive
        self._history = history

    def guidance(self, generation: int, parent: ProgramRecord) -> Guidance | None:
        """What the prompt of a generation is given for a change of `parent`; None before the first report. What is
        asked again, as after a refusal or a crash, is given the same recommendation again."""
        archive = self._archive
        if attempts := archive.attempts(generation):
            given = guidance_of(attempts)
            if given is None:
                return None
            programs, number = given["document"], given.get("recommendation")
            return self._of(programs, number, self._open_to(parent, programs))
        if archive.meta.state.report is None:
            return None
        open_to = self._open_to(parent, archive.meta.shown)
        return self._of(archive.meta.shown, next(iter(open_to), None), open_to)

    def _open_to(self, parent: ProgramRecord, programs: int) -> list[int]:
        """The recommendations of a report for a change of `parent`, by their numbers, the next one first."""
        trials = self._history.trials(self._archive.meta.reports[programs].recommendations)
        return open_recommendations(trials, self._history.line(parent.generation))

    def _of(self, programs: int, number: int | None, open_to: Sequence[int]) -> Guidance:
        report = self._archive.meta.reports[programs]
        if number is not None and not 1 <= number <= len(report.recommendations):
            raise ArchiveError(
                f"{self._archive.folder}: its journal tells of recommendation {number} of the insights report after "
                f"{programs} programs, which has {len(report.recommendations)}; restore the folder from a copy"
            )
        return Guidance(
            document=programs,
            scratchpad=shown(report.scratchpad.whole),
            standing=standing(self._archive, programs),
            number=number,
            recommendation=None if number is None else shown(report.recommendations[number - 1].whole),
            others=tuple(title_of(report.recommendations[other - 1]) for other in open_to if other != number),
        )


def open_recommendations(trials: Sequence[Sequence[Trial]], line: Collection[int]) -> list[int]:
    """The numbers (from 1) of the recommendations for a change of the program whose line that is: those that it does
    not follow, and that did not fail on its line. The one that was handed out least often comes first, of equals the
    most promising. `trials` are those of each recommendation so far, the most promising first."""
    left = {
        number: len(tried)
        for number, tried in enumerate(trials, 1)
        if not followed_by(line, tried) and not failed_on(line, tried)
    }
    return sorted(left, key=lambda number: (left[number], number))


def standing(archive: RunReader, programs: int) -> str:
    """After how many programs the notes were written, and which program is the best now."""
    best, newest = archive.ahead, archive.programs[programs - 1].generation
    if best is None or best.value is None:
        return f"As of generation {newest}; no program is correct yet."
    verb = "is now" if best.generation > newest else "is still"
    return f"As of generation {newest}; the best {verb} generation {best.generation} ({score_text(best.value)})."
