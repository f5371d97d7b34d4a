"""Facts read from an archive."""

from evolve.archive.archive import Archive
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.evidence.credit import Credits
from evolve.evidence.facts import Fact


class FactReader:
    """Makes the facts of one archive's generations."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._credits = Credits(archive)

    def ended(self, ended: EndedGeneration) -> Fact:
        """The fact of a generation that has ended."""
        if ended.program is not None:
            return self.program(ended.program)
        attempts = self._archive.attempts(ended.generation)
        return Fact.without_program(self._archive.generation(ended.generation), attempts[-1] if attempts else None)

    def program(self, record: ProgramRecord, *, whole: bool = False) -> Fact:
        """The fact of a program; `whole`: with the texts that only a document on it needs."""
        archive, credit = self._archive, self._credits.of(record)
        if not whole and record.correct:
            return Fact.of_program(record, credit)
        evaluation = archive.evaluation(record)
        if not whole:
            return Fact.of_program(record, credit, detail=evaluation.detail)
        return Fact.of_program(
            record,
            credit,
            detail=evaluation.detail,
            source=archive.source(record),
            parent_source="" if credit.parent is None else archive.source(credit.parent),
            feedback=evaluation.feedback,
        )
