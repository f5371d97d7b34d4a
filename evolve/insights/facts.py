"""What is known of one generation, for documents and advice: plain values, none of which a clock measured."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from evaluator.evaluation import Outcome
from evaluator.objective import COMBINED, Direction, Objective
from evaluator.program_files import Files
from evaluator.untrusted import one_line
from evolve.archive.events import AskedEvent, Status
from evolve.archive.ranking import by_medians, compared, paired_scores, rank_score
from evolve.archive.reader import RunReader
from evolve.archive.records import AttemptRecord, EndedGeneration, ProgramRecord
from evolve.core.program import Origin
from evolve.insights.credit import SAME, Credit, Credits, Ratio, Tally, ratio

_AT_CEILING = 1e-6  # a score this close to its ceiling has reached it
BY_MEDIANS = " by the median of other orders"
"""What stands behind a change that is no difference of the two scores shown."""
_CLOCKS = frozenset({"runtime_s", "peak_memory_mb"})  # a second run would measure them differently
_RAISING = (Outcome.EXCEPTION, Outcome.LOAD_ERROR)
_EXCEPTION = re.compile(r"^(?:[a-z ]+: )?([^\W\d]\w{0,59})(?:: |$)", re.MULTILINE)  # of a traceback as tasks tell it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One generation: a program with its verdict, or a proposal that became none (`status` and `reason` say how).

    `base_...` is what the program is measured against, and `wins` how it stands there instance by instance; `best_...`
    was the best program when it came (see evolve.insights.credit). Texts are as a model or a candidate wrote them. The
    sources and `feedback` are needed for the next document only, `costs` for counting.
    """

    generation: int
    status: Status
    origin: Origin
    outcome: Outcome | None = None
    detail: str = ""
    correct: bool = False
    quarantine: str | None = None
    excluded: bool = False  # a person took it out of choice and best
    combined_score: float | None = None
    rank: float | None = None  # what it ranks by, where that is not its score: see rank_score
    spread: tuple[float, float] | None = None  # the range of the score, where a clock or chance is in it
    metric: str = "combined_score"  # what the score is called, and (`sign`) whether it is that, or that negated
    sign: int = 1
    unit: str = ""
    self_judged: bool = False  # the program shares the process that made its score
    ceiling: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    parent_generation: int | None = None
    contributors: tuple[int, ...] = ()  # all that a crossover was made of
    base_generation: int | None = None
    base_score: float | None = None
    base_spread: tuple[float, float] | None = None
    medians: tuple[float, float] | None = None  # its and its base's over other orders, where they are compared by these
    base_correct: bool = False
    wins: Tally | None = None
    best_generation: int | None = None
    best_wins: Tally | None = None
    same_as: int | None = None  # the first correct program that does the same on every instance, if it is another one
    cpu_s: float | None = None  # of the whole evaluation, to two digits
    costs: str = ""  # of a correct program: exact, as its record has them; none where they are not the judge's of today
    per_instance: Direction = Direction.MINIMISE
    source: str = ""
    parent_source: str = ""
    feedback: str = ""
    reason: str = ""

    @classmethod
    def of_program(cls, record: ProgramRecord, credit: Credit) -> Self:
        """The fact of a recorded program, with what came before it, but for its texts."""
        base, parent, best = credit.base, credit.parent, credit.best
        metric, sign = record.score_as
        medians = paired_scores(record, base) if base is not None and by_medians(record, base) else None
        return cls(
            generation=record.generation,
            status=Status.EVALUATED,
            origin=record.origin,
            outcome=record.outcome,
            correct=record.correct,
            quarantine=record.quarantine,
            excluded=record.excluded,
            combined_score=record.combined_score,
            rank=rank_score(record),
            spread=record.spread,
            metric=metric,
            sign=sign,
            unit=record.objective.unit if metric != COMBINED else "",
            self_judged=record.self_judged,
            ceiling=record.ceiling,
            metrics={name: value for name, value in record.metrics.items() if name not in _CLOCKS},
            parent_generation=None if parent is None else parent.generation,
            contributors=credit.contributors,
            base_generation=None if base is None else base.generation,
            base_score=None if base is None else base.combined_score,
            base_spread=None if base is None else base.spread,
            medians=medians,
            base_correct=base is not None and base.correct,
            wins=credit.against_base,
            best_generation=None if best is None else best.generation,
            best_wins=credit.against_best,
            costs="" if record.self_judged or record.stale else record.costs,
            per_instance=record.objective.per_instance,
        )

    @classmethod
    def without_program(cls, asked: AskedEvent, status: Status, deciding: AttemptRecord | None) -> Self:
        """The fact of a generation that ended without a program; `deciding` is None if nothing was asked."""
        return cls(
            generation=asked.generation,
            status=status,
            origin=Origin(kind=asked.kind, model=asked.model, patch_name="", description=""),
            outcome=None if deciding is None else deciding.failure,
            reason="" if deciding is None else deciding.reason or "",
            detail="" if deciding is None else deciding.message or "",
        )

    @property
    def is_program(self) -> bool:
        """Whether the generation became a program."""
        return self.status is Status.EVALUATED

    @property
    def base_name(self) -> str:
        """What the program is measured against, in words."""
        return "its parent" if self.base_generation == self.parent_generation else f"generation {self.base_generation}"

    @property
    def change(self) -> float | None:
        """How much its score differs from its base's, or its median where both have one; None unless both are correct
        programs."""
        if not (self.correct and self.base_correct) or self.combined_score is None or self.base_score is None:
            return None
        score, than = self.medians or (self.combined_score, self.base_score)
        return score - than

    @property
    def scale(self) -> Objective:
        """What its score is shown as."""
        direction = Direction.MAXIMISE if self.sign > 0 else Direction.MINIMISE
        return Objective(metric=self.metric, direction=direction, unit=self.unit)

    @property
    def shown_score(self) -> str:
        """Its score as it is shown; "" without one."""
        return "" if self.combined_score is None else self.scale.amount(self.combined_score * self.sign)

    @property
    def shown_base_score(self) -> str:
        """That of its base."""
        return "" if self.base_score is None else self.scale.amount(self.base_score * self.sign)

    @property
    def worded_change(self) -> str:
        """How it differs from its base: `5 slots better`; "" where that cannot be said."""
        if self.change is None or self.combined_score is None:
            return ""
        change = self.change * self.sign if abs(self.change) > SAME else 0.0
        worded = self.scale.worded(change, self.combined_score * self.sign)
        return f"{worded}{BY_MEDIANS if self.medians else ''}"

    @property
    def apart(self) -> int:
        """1 where its score is above its base's (a gain), -1 below (a loss), 0 where they cannot be distinguished
        or compared. The instances are counted separately."""
        if self.change is None:
            return 0
        score, than = self.medians or (self.combined_score or 0.0, self.base_score or 0.0)
        return compared(score, self.spread, than, self.base_spread, same=SAME)

    @property
    def gap(self) -> float | None:
        """How far below the ceiling the score stands; None without a ceiling or without a correct program."""
        if not self.correct or self.ceiling is None or self.combined_score is None:
            return None
        return self.ceiling - self.combined_score

    @property
    def at_ceiling(self) -> bool:
        """Whether a correct program's score is the ceiling."""
        return self.gap is not None and self.gap <= _AT_CEILING

    @property
    def ending(self) -> str:
        """What went wrong, in a few words that code alone chooses from: `failed: NameError`; "" for a correct one."""
        if self.correct:
            return ""
        if self.quarantine is not None:
            return "quarantined"
        if self.outcome is not None:
            raised = _EXCEPTION.search(self.detail) if self.outcome in _RAISING else None
            return f"failed: {self.outcome if raised is None else raised[1]}"
        why = re.sub(r"\W+", "_", self.reason)[:40]
        return f"no program: {self.status.value}" + (f" {why}" if why and why != self.status.value else "")

    @property
    def fault(self) -> str:
        """What went wrong, as the evaluator or the refusal said it, in one line; of a traceback, its end."""
        reason = self.detail if self.quarantine is None else self.quarantine
        return one_line("; ".join(line.strip() for line in reason.strip().splitlines()[-3:]), 160)


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What is looked up of a program where a text speaks of it: its source, and what it costs on each instance (none
    where that says nothing)."""

    source: str = ""
    costs: Sequence[Ratio | None] = ()
    direction: Direction = Direction.MINIMISE


def changed_texts(before: Files | None, after: Files) -> tuple[str, str]:
    """The text of a program and of its parent ("" without one); of several files those that differ. Of a program of
    several files without a parent, the names: the whole is too long for a reader."""
    if before is None:
        lengths = (f"FILE: {path} ({text.count(chr(10))} lines)" for path, text in after.items())
        return after.only if len(after) == 1 else "\n".join(lengths), ""
    if len(before) == len(after) == 1:
        return after.only, before.only
    paths = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return _texts_of(after, paths), _texts_of(before, paths)


def _texts_of(files: Files, paths: Sequence[str]) -> str:
    return "\n".join(f"FILE: {path}\n{files[path]}" for path in paths if path in files)


class FactReader:
    """Makes the facts of one archive's generations."""

    def __init__(self, archive: RunReader) -> None:
        self._archive = archive
        self._credits = Credits(archive)

    def ended(self, ended: EndedGeneration) -> Fact:
        """The fact of a generation that has ended."""
        if ended.program is not None:
            return self.program(ended.program)
        asked = self._archive.generations[ended.generation]
        return Fact.without_program(asked, ended.status, self._archive.deciding(ended.generation))

    def details(self, generation: int) -> Details:
        """Those of a generation; none if it became no program."""
        record = self._archive.program(generation)
        if record is None:
            return Details()
        costs = () if record.self_judged else tuple(map(ratio, self._archive.costs(record)))
        return Details(source=self._archive.files(record).joined, costs=costs, direction=record.objective.per_instance)

    def program(self, record: ProgramRecord, *, whole: bool = False) -> Fact:
        """The fact of a program; `whole`: with the texts that only a document on it needs."""
        archive, credit = self._archive, self._credits.of(record)
        fact = replace(Fact.of_program(record, credit), same_as=self._credits.same_as(record))
        if not whole:
            return fact if record.correct else replace(fact, detail=archive.evaluation(record).detail)
        evaluation, files = archive.evaluation(record), archive.files(record)
        before = None if credit.parent is None else archive.files(credit.parent)
        source, parent_source = changed_texts(before, files)
        return replace(
            fact,
            detail=evaluation.detail,
            source=source,
            parent_source=parent_source,
            feedback=evaluation.feedback,
            cpu_s=float(f"{sum(result.cpu_s for result in evaluation.results):.2g}"),
        )
