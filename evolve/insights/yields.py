"""What each model yielded: how many of its proposals came how far, what they cost and gained. Counted once, here, for
the live screen, `list`, reports and pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.archive.ranking import improves
from evolve.archive.reader import RunReader
from evolve.archive.records import Contribution, EndedGeneration
from evolve.core.usage import Spending
from evolve.insights.credit import Credits, change_on


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelYield:
    """One model, over the generations that have ended. A proposal is a generation in which it was asked; where another
    model repaired its answer both were. `answered`, `applied` (a program, new or known already), `correct`, `improved`
    (on its parent) and `best` (new bests) are parts of `asked`, each of the one before it. `gain`: the sum of what its
    programs were better by than what they were made from, in the task's metric. `spent`: by all its calls for patches,
    `failed` of which gave no answer."""

    model: str
    asked: int = 0
    answered: int = 0
    applied: int = 0
    correct: int = 0
    improved: int = 0
    best: int = 0
    gain: float = 0.0
    failed: int = 0
    spent: Spending = field(default_factory=Spending)

    @property
    def gain_per_usd(self) -> float | None:
        """None where a price is not known, or nothing was paid."""
        cost = self.spent.cost_usd
        return self.gain / cost if cost else None

    @property
    def failed_share(self) -> float | None:
        """The share of its calls that failed; None where none was sent."""
        return self.failed / self.spent.calls if self.spent.calls else None

    def to_json(self) -> dict[str, Any]:
        """Its keys in `list RUN --json` and in what pages are drawn from."""
        counts = ("model", "asked", "answered", "applied", "correct", "improved", "best", "gain")
        return {name: getattr(self, name) for name in counts} | {
            "cost_usd": self.spent.cost_usd,
            "tokens": self.spent.tokens,
            "gain_per_usd": self.gain_per_usd,
            "calls": self.spent.calls,
            "calls_failed": self.failed,
            "calls_failed_share": self.failed_share,
        }


class ModelYields:
    """The yields of one archive, brought up to date by what has ended since. Each generation is looked at once, until a
    program is confirmed or withdrawn: what an evaluator that changes makes of those before is taken in by a new one of
    these."""

    def __init__(self) -> None:
        self._sorted: Sequence[ModelYield] = ()
        self._settled = self._ended = 0
        self._yields: dict[str, ModelYield] = {}
        self._bests = frozenset[int]()

    def of_archive(self, archive: RunReader) -> Sequence[ModelYield]:
        """Those of all generations that have ended by now; most asked first. It takes as long as there are new ones."""
        settled = archive.position - archive.ended
        if (settled, archive.ended) == (self._settled, self._ended):
            return self._sorted
        if settled != self._settled:
            self._settled, self._ended, self._yields = settled, 0, {}
        credited = Credits(archive)
        self._bests = frozenset(record.generation for _, record in archive.best_history if record is not None)
        for ended in archive.endings(since=self._ended):
            for part in ended.models:
                before = self._yields.get(part.model, ModelYield(model=part.model))
                self._yields[part.model] = self._with(before, part, ended, archive, credited)
            self._ended += 1
        self._sorted = sorted(self._yields.values(), key=lambda model: (-model.asked, model.model))
        return self._sorted

    def _with(
        self, before: ModelYield, part: Contribution, ended: EndedGeneration, archive: RunReader, credited: Credits
    ) -> ModelYield:
        program = archive.program(ended.generation)
        if program is not None and program.origin.model != part.model:  # it was another one's in the end
            program = None
        correct = program is not None and program.correct
        improved = best = False
        change = None
        if program is not None and correct:
            parent = archive.find(program.parents[0])
            best = program.generation in self._bests
            improved = best or improves(program, parent)
            change = change_on(program, credited.base(program))
        return replace(
            before,
            asked=before.asked + 1,
            answered=before.answered + part.answered,
            applied=before.applied + part.applied,
            correct=before.correct + correct,
            improved=before.improved + improved,
            best=before.best + best,
            gain=before.gain + max(0.0, change or 0.0),
            failed=before.failed + part.failed,
            spent=_both(before.spent, part.spent),
        )


def _both(first: Spending, other: Spending) -> Spending:
    return Spending(
        calls=first.calls + other.calls,
        tokens_in=first.tokens_in + other.tokens_in,
        tokens_out=first.tokens_out + other.tokens_out,
        known_usd=first.known_usd + other.known_usd,
        unpriced=first.unpriced + other.unpriced,
    )


def model_yields(archive: RunReader) -> Sequence[ModelYield]:
    """The yields of a whole archive."""
    return ModelYields().of_archive(archive)
