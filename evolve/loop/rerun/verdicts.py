"""What scores the programs of a run that is done again: each really, ahead of time where the record says which come,
and held against the verdict on record."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from evaluator.evaluation import Evaluation, Incumbent
from evaluator.program_files import Files
from evaluator.waiting import Threads
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.loop.rerun.divergence import settled
from evolve.loop.rerun.record import JUDGES, Record, RecordedSession


@dataclass(slots=True, kw_only=True)
class VerdictTally:
    """How verdicts were found to be as they are on record."""

    exact: int = 0
    within: int = 0  # a clock, or the program itself, had a hand in it
    again: int = 0  # of all of these, those that agreed only when they were asked again, alone
    as_recorded: int = 0  # another judge made them, which is not here


@dataclass(slots=True, kw_only=True)
class _Known:
    recorded: Mapping[str, Any]
    ahead: Future[Evaluation] | None  # None where another judge than the one that is installed made it


class RecordedJudge:
    """An evaluator that knows what is on record. `expect` says that the program of a generation will come."""

    def __init__(self, pair: EvaluatorPair, record: Record, threads: Threads, *, ahead: int) -> None:
        inner = pair.evaluator
        self.suite, self.version, self.sandbox = inner.suite, inner.version, inner.sandbox
        self.ceiling, self.ceiling_is_proven = inner.ceiling, inner.ceiling_is_proven
        self.tally = VerdictTally()
        self.lenient = pair.task.uses_clock or pair.task.self_judged
        self.judged_by = {key: pair.identity()[key] for key in JUDGES}
        self._pair, self._inner, self._record, self._threads = pair, inner, record, threads
        self._known: dict[Files, _Known] = {}
        self._best: dict[Files, Mapping[str, Any]] = {}  # verdicts on record of programs that will be examined
        self._order = list(record.judged_in)
        self._ahead = ahead
        self._begun = 0  # how many of these are, or were, evaluated
        self._lock = threading.Lock()

    def is_here(self, session: RecordedSession) -> bool:
        """Whether the judge of a session is the one that is installed."""
        return session.judge == self.judged_by

    def expect(self, generation: int) -> None:
        """Begin to evaluate the program on record for a generation, and those that come next, unless that was done."""
        until = self._order.index(generation) + 1 + self._ahead
        for number in self._order[self._begun : until]:
            self._begin(number)
        self._begun = max(self._begun, until)

    def _begin(self, generation: int) -> None:
        program = self._record.files(self._record.by_generation[generation])
        here = self.is_here(self._record.judged_in[generation])
        ahead = self._threads.submit(self._inner.evaluate, program) if here else None
        recorded = self._record.first_evaluation(generation)
        with self._lock:
            self._known[program] = _Known(recorded=recorded, ahead=ahead)

    def evaluate(self, program: Files) -> Evaluation:
        """See Evaluator.evaluate."""
        with self._lock:
            known = self._known.pop(program, None)
        if known is None:
            return self._inner.evaluate(program)
        if known.ahead is None:
            self._count("as_recorded")
            return Evaluation.from_json(known.recorded)
        found = known.ahead.result()
        strict = known.recorded["strict"]
        if strict is not None:
            with self._lock:
                self._best[program] = known.recorded
        if strict is not None and not strict["agrees"]:
            return found  # what it was before it was examined is not on record
        wanted = {**known.recorded, "strict": None}
        evaluation = self._held(wanted, found)
        if evaluation is None:  # a limit of time may have been met because others ran at the same time
            evaluation = self._held(wanted, self._alone(program))
            if evaluation is None:
                return found
            self._count("again")
        return evaluation

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """See Evaluator.examine. What another judge has examined stands as it is on record."""
        with self._lock:
            recorded = self._best.pop(program, None)
        if evaluation.evaluator_version != self.version:
            return evaluation
        found = self._inner.examine(program, evaluation, best)
        if recorded is None or not self.lenient:
            return found
        same, written = settled(recorded, found.to_json(), lenient=True)
        return replace(Evaluation.from_json(recorded), answers=found.answers) if same and written is recorded else found

    def cancel(self) -> None:
        """See Evaluator.cancel."""
        self._inner.cancel()

    def _held(self, wanted: Mapping[str, Any], found: Evaluation) -> Evaluation | None:
        """The evaluation that goes on, None where it is not the one on record."""
        same, written = settled(wanted, found.to_json(), lenient=self.lenient)
        if not same:
            return None
        self._count("within" if written is wanted else "exact")
        return Evaluation.from_json(wanted) if written is wanted else found

    def _alone(self, program: Files) -> Evaluation:
        if self._pair.others is None:
            return self._inner.evaluate(program)
        with self._pair.others(self.suite) as evaluator:
            return evaluator.evaluate(program)

    def _count(self, name: str) -> None:
        with self._lock:
            setattr(self.tally, name, getattr(self.tally, name) + 1)
