"""A whole run again from its record: the real steps, driven event by event in the order on record."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    ClosedEvent,
    EvaluatedEvent,
    Event,
    ExcludedEvent,
    HeldOutEvent,
    MetaAnsweredEvent,
    RefusedEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    StoppedEvent,
    SummarisedEvent,
    SummarisingEvent,
    TuningBaselineEvent,
)
from evolve.archive.reader import RunReader
from evolve.config import render_config
from evolve.errors import InputError
from evolve.judging.beginning import record_initial
from evolve.judging.evaluators import EvaluatorPair, open_evaluators
from evolve.judging.generalising import try_new_orders
from evolve.judging.recording import rescore
from evolve.language import language_of_task
from evolve.opening import task_of_run
from evolve.program import normalised_hash
from evolve.rerun.parting import Parted, Parting, SessionOver
from evolve.rerun.record import JUDGES, Record
from evolve.rerun.sitting import RepeatedSession, Tools, require_met
from evolve.rerun.tape import TAKEN_OVER, CheckedJournal, Tape
from evolve.rerun.tuned import TunedByHand
from evolve.rerun.verdicts import RecordedJudge, VerdictTally
from evolve.trust import Agree, own_run, refuse, require_trust_to_repeat
from evolve.tuning.baseline import measure_baseline

_AHEAD: Final = 2
"""So many programs are evaluated ahead for each evaluator process."""
_MORE_THREADS: Final = 8


@dataclass(slots=True, kw_only=True)
class Repeated:
    """What came of doing a run again. `part` is where it parts from its record, None if it does not; `fingerprint` that
    of what was made; the rest counts what was done: questions put again and those that stand as recorded, answers,
    verdicts, documents."""

    run: str
    generations: int
    recorded_fingerprint: str
    sandbox: tuple[str, str]  # the level on record, and here
    fingerprint: str | None = None
    part: Parting | None = None
    events: int = 0
    questions: int = 0
    questions_as_recorded: int = 0
    tuned: int = 0  # of these, what a person had asked with `evolve tune`
    answers: int = 0
    patches_refused: int = 0
    documents: int = 0
    verdicts: VerdictTally = field(default_factory=VerdictTally)
    kept: Path | None = None

    @property
    def equal(self) -> bool:
        """Whether all of it came again as it is on record."""
        return self.part is None and self.fingerprint == self.recorded_fingerprint


def rerun(
    folder: Path,
    *,
    out: Path | None = None,
    workers: int | None = None,
    task_folder: str | None = None,
    trust: Agree = refuse,
    tell: Callable[[int, int], None] = lambda ended, of: None,
    confined: SandboxOptions = STRONGEST,
) -> Repeated:
    """Do the run in `folder` again, into a new archive `out` (None: one that goes when that is done). Its own archive
    is only read, no socket opened, no key read. `tell` hears how many of how many generations have ended.

    Raises ArchiveError, InputError, UntrustedArchive, TaskError, SandboxError; KeyboardInterrupt after Ctrl-C.
    """
    with Record(folder) as record:
        config, source = record.config, record.archive
        sittings = map(record.config_of, record.sittings)
        own = require_trust_to_repeat(source, sittings, typed_task=task_folder is not None, agree=trust)
        task = task_of_run(source, task_folder or config.task, verb="rerun")
        if not source.programs:
            raise InputError(f"{folder}: the run was cut off before its initial program was recorded: nothing to rerun")
        control = source.source(source.programs[0])
        count = config.workers if workers is None else workers
        with open_evaluators(
            task, config.suite, workers=count, control=control, confined=confined, seed=config.seed
        ) as pair:
            found = Repeated(
                run=folder.name,
                generations=record.generations,
                recorded_fingerprint=source.fingerprint(),
                sandbox=(str(record.created.identity.get("sandbox")), pair.evaluator.sandbox),
            )
            found.part = _other_judge(record, pair)
            if found.part is not None:
                return found
            with (
                _place(out) as place,
                threads(2 * count + _MORE_THREADS, cancel=pair.cancel) as pool,
                _begun(record, place, pair.task, owned=own and out is not None) as (archive, tape),
            ):
                judge = RecordedJudge(pair, record, pool)
                found.verdicts = judge.tally
                tools = Tools(
                    record=record,
                    archive=archive,
                    tape=tape,
                    judge=judge,
                    evaluators=replace(pair, evaluator=judge),
                    threads=pool,
                )
                _Rerun(tools, pair, found, workers=count, tell=tell).run()
                found.kept = out
        return found


def _other_judge(record: Record, pair: EvaluatorPair) -> Parting | None:
    """Why nothing can be compared: what is installed is not what scored last; None if it is."""
    recorded, here = record.sittings[-1].judge, pair.identity()
    differing = [key for key in JUDGES if recorded[key] != here[key]]
    if not differing:
        return None
    sides = (", ".join(f"{key} {str(side[key])[:16]}" for key in differing) for side in (recorded, here))
    first, second = sides
    return Parting(generation=0, what="what scores its programs differs", recorded=first, found=second)


@contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="evolve-rerun-") as folder:
        yield Path(folder) / "run"


@contextmanager
def _begun(record: Record, place: Path, task: Task, *, owned: bool) -> Iterator[tuple[Archive, Tape]]:
    """The new archive, with its first event, and the record at its second. `owned`: it is the user's own, as the run
    is that it is made of; else it bears no id, and is nobody's."""
    run_id = own_run(record.config)[0] if owned else None
    text = render_config(record.config)
    Archive.create(place, config_text=text, identity=record.created.identity, run_id=run_id).close()
    tape = Tape(record, lenient=task.uses_clock or task.self_judged)
    tape.advance()
    with Archive(RunReader.read(place, CheckedJournal(place, tape))) as archive:
        tape.archive = archive
        yield archive, tape


class _Rerun:
    """One pass over a record."""

    def __init__(
        self, tools: Tools, pair: EvaluatorPair, found: Repeated, *, workers: int, tell: Callable[[int, int], None]
    ) -> None:
        self._record, self._archive, self._tape = tools.record, tools.archive, tools.tape
        self._judge, self._pool, self._pair = tools.judge, tools.threads, pair
        self._found, self._tell = found, tell
        self._tools = tools
        self._by_hand = TunedByHand(tools)
        self._ahead = iter(self._record.order[1:])
        self._most_ahead = _AHEAD * workers
        self._begun_ahead = self._judged = 0
        self._workers = workers
        self._sitting = 0
        self._session: RepeatedSession | None = None
        self._ended = -1

    def run(self) -> None:
        """Go through the record to its end, or to where what is found parts from it."""
        tape, found = self._tape, self._found
        try:
            while (event := tape.next) is not None:
                try:
                    self._meet(event)
                except SessionOver:
                    self._close()
                self._progress()
        except Parted as parted:
            found.part = parted.part
        finally:
            self._close()
        passed = tape.passed
        found.events = sum(passed.values()) - sum(
            passed[name] for name in ("as_recorded", "unusable", "documents", "tuned")
        )
        found.questions, found.questions_as_recorded = passed["asked"], passed["as_recorded"]
        found.tuned = passed["tuned"]
        found.answers = passed["answered"] + passed["meta_answered"]
        found.patches_refused, found.documents = passed["unusable"], passed["documents"]
        found.fingerprint = self._archive.reader.fingerprint()
        if found.part is None and not found.equal:
            shown = (found.recorded_fingerprint, found.fingerprint)
            found.part = Parting(generation=None, what="the fingerprint differs", recorded=shown[0], found=shown[1])

    def _meet(self, event: Event) -> None:
        """Do what leads to the next event on record. Raises Parted where nothing does, or to another."""
        tape = self._tape
        if isinstance(event, ResumedEvent):
            self._resumed(event)
            return
        of_a_judge = isinstance(event, RescoredEvent | HeldOutEvent | ReorderedEvent | TuningBaselineEvent)
        elsewhere = of_a_judge and not tape.judge_is_here
        if event.event in TAKEN_OVER or elsewhere:
            if isinstance(event, StoppedEvent):
                self._close()
            before, told = self._archive.reader.would_lead, self._archive.reader.position
            tape.take_over()
            if self._session is not None and before is not None and isinstance(event, RescoredEvent):
                self._session.took_over(before, told)
            return
        if isinstance(event, EvaluatedEvent) and event.generation == 0:
            self._initial()
        elif isinstance(event, TuningBaselineEvent):
            measure_baseline(self._archive, self._pair, event.proposals, workers=self._workers)
        elif isinstance(event, ReorderedEvent):
            self._close()
            suite, interrupt = self._pair.evaluator.suite, threading.Event()
            try_new_orders(self._archive, suite, self._pair.others, interrupt=interrupt, tell=lambda event: None)
        elif isinstance(event, AskedEvent | AnsweredEvent | EvaluatedEvent) and self._is_by_hand(event):
            self._close()
            self._move_by_hand(event)
        else:
            self._move(event)
        require_met(tape, event)
        if self._session is not None:
            self._session.take_up()

    def _is_by_hand(self, event: AskedEvent | AnsweredEvent | EvaluatedEvent) -> bool:
        return self._record.by_hand.get(event.generation) == self._sitting

    def _move_by_hand(self, event: AskedEvent | AnsweredEvent | EvaluatedEvent) -> None:
        match event:
            case AskedEvent():
                self._by_hand.asked(event)
            case AnsweredEvent():
                self._by_hand.answered(event)
            case EvaluatedEvent():
                self._look_ahead()
                self._by_hand.evaluated(event)

    def _move(self, event: Event) -> None:
        session = self._session = self._session or self._first()
        match event:
            case AskedEvent():
                session.asked(event)
            case AnsweredEvent():
                session.answered(event)
            case RefusedEvent():
                session.refused(event)
            case EvaluatedEvent():
                self._look_ahead()
                session.evaluated(event)
            case RescoredEvent():
                session.confirmed(event)
            case MetaAnsweredEvent():
                session.meta_answered(event)
            case SummarisingEvent():
                session.summarising()
            case SummarisedEvent() | ClosedEvent():
                session.summarised(closing=isinstance(event, ClosedEvent))

    def _first(self) -> RepeatedSession:
        """The session that the run was begun in."""
        session = RepeatedSession(self._tools, self._record.sittings[self._sitting])
        session.begin()
        return session

    def _initial(self) -> None:
        """The initial program is judged, and recorded."""
        record, tape = self._record, self._tape
        source = record.archive.source(record.archive.programs[0])
        sitting = record.verdicts[0].sitting
        tape.judge_is_here = self._judge.is_here(sitting)
        pair = self._tools.evaluators if tape.judge_is_here else replace(self._tools.evaluators, held_out=None)
        self._judge.expect(0)
        confirmed = self._pool.result(self._pool.submit(pair.judge, source))
        begun_with = record.created.identity.get("initial")
        found = normalised_hash(source, language_of_task(self._pair.task))
        if begun_with not in (None, found):
            raise Parted(Parting(generation=0, what="its program differs", recorded=str(begun_with), found=found))
        record_initial(self._archive, source, confirmed, self._pair)

    def _resumed(self, event: ResumedEvent) -> None:
        """The next session begins, as `resume` does it."""
        self._close()
        self._sitting += 1
        sitting, tape = self._record.sittings[self._sitting], self._tape
        tape.judge_is_here = self._judge.is_here(sitting.number)
        self._archive.resumed(changed=event.changed, identity=event.identity or {}, rescore=event.rescore)
        while isinstance(excluded := tape.next, ExcludedEvent):
            self._archive.excluded(excluded.generation)
        if not self._archive.reader.programs:
            return  # it was cut off before there was an initial program: that is judged now
        if tape.judge_is_here:
            rescore(self._archive, self._pair, workers=self._workers, tell=lambda done, of: None)
        elif self._archive.reader.to_rescore:
            return  # taken over, event by event; the session begins behind that
        self._session = RepeatedSession(self._tools, sitting)
        self._session.begin()

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _look_ahead(self) -> None:
        """Have the programs that come next evaluated."""
        self._judged += 1
        while self._begun_ahead < self._judged + self._most_ahead:
            generation = next(self._ahead, None)
            if generation is None:
                return
            self._judge.expect(generation)
            self._begun_ahead += 1

    def _progress(self) -> None:
        if self._archive.reader.ended != self._ended:
            self._ended = self._archive.reader.ended
            self._tell(max(0, self._ended - 1), self._found.generations)
