"""A whole run again from its record: the real steps, driven event by event in the order on record."""

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, cast

from evaluator.evaluation import Evaluation
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evaluator.waiting import Threads, threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    AuditedEvent,
    ClosedEvent,
    EvaluatedEvent,
    Event,
    ExcludedEvent,
    FreshEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RefusedEvent,
    RemeasuredEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    StoppedEvent,
    SummarisedEvent,
    SummarisingEvent,
    TuningBaselineEvent,
    document_of,
)
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.core.completion import CallFailed, Completion, FailureReason, Message, MetaKey, Observer, RequestKey
from evolve.core.config import Config
from evolve.core.errors import InputError, PatchError
from evolve.core.program import program_hash
from evolve.evaluation.beginning import record_initial
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair, open_evaluators
from evolve.evaluation.generalisation import try_new_orders
from evolve.evaluation.recording import question_of, rescore
from evolve.loop.admission import Admission, UnderWay
from evolve.loop.context import RunContext, RunServices
from evolve.loop.executor import Ended, Executor, Job, JobKind, ThreadExecutor, done
from evolve.loop.loop import Loop
from evolve.loop.rerun.divergence import Diverged, Divergence, SessionOver
from evolve.loop.rerun.record import JUDGES, CheckedJournal, JournalCursor, Record, RecordedSession, RerunCounts
from evolve.loop.rerun.verdicts import RecordedJudge, VerdictTally
from evolve.opening import open_models, task_of_run
from evolve.progress import Event as ProgressEvent
from evolve.progress import Progress
from evolve.propose.tuning.baseline import measure_baseline
from evolve.propose.tuning.recording import choice_to_tune, judged, record_tuning
from evolve.search.stopping import StopReason
from evolve.search.strategies import open_search
from evolve.trust import Agree, own_run, refuse, require_trust_to_repeat

_AFTER_THE_LOOP: Final = (
    ResumedEvent,
    StoppedEvent,
    NotedEvent,
    FreshEvent,
    RemeasuredEvent,
    ReorderedEvent,
    TuningBaselineEvent,
    AuditedEvent,
)
_ASKING: Final = (JobKind.ASK, JobKind.TUNE)
"""What ends with an answer. What a search for better numbers found is taken from the record, as a model's answer is."""
_AHEAD: Final = 2
"""How many programs are evaluated ahead for each evaluator process."""
_MORE_THREADS: Final = 8


@dataclass(slots=True, kw_only=True)
class Repeated:
    """The outcome of a rerun. `divergence` is where it differs from its record, None if it does not;
    `fingerprint` that of what was made."""

    run: str
    generations: int
    recorded_fingerprint: str
    sandbox: tuple[str, str]  # the level on record, and here
    fingerprint: str | None = None
    divergence: Divergence | None = None
    tally: RerunCounts = field(default_factory=RerunCounts)
    verdicts: VerdictTally = field(default_factory=VerdictTally)
    kept: Path | None = None
    unnoted: str | None = None  # why the new run could not be noted as the user's

    @property
    def equal(self) -> bool:
        """Whether all of it came again as it is on record."""
        return self.divergence is None and self.fingerprint == self.recorded_fingerprint


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
    with Record.open(folder) as record:
        config = record.config
        configs, sessions = map(record.config_of, record.sessions), iter(record.sessions)
        own = require_trust_to_repeat(record, configs, typed_task=task_folder is not None, agree=trust)
        task = task_of_run(record, task_folder or config.task, verb="rerun")
        if not record.programs:
            raise InputError(f"{folder}: the run was cut off before its initial program was recorded: nothing to rerun")
        control = record.files(record.programs[0])
        count = config.workers if workers is None else workers
        with open_evaluators(
            task, config.suite, workers=count, control=control, confined=confined, seed=config.seed
        ) as pair:
            found = Repeated(
                run=folder.name,
                generations=record.next_generation - 1,
                recorded_fingerprint=record.fingerprint(),
                sandbox=(str(record.created.identity.get("sandbox")), pair.evaluator.sandbox),
            )
            found.divergence = _other_judge(record, pair)
            if found.divergence is not None:
                return found
            with (
                tempfile.TemporaryDirectory(prefix="evolve-rerun-") as temporary,
                threads(2 * count + _MORE_THREADS, cancel=pair.cancel) as pool,
                _begun(record, out or Path(temporary, "run"), task, owned=own and out is not None) as begun,
            ):
                archive, cursor, found.unnoted = begun
                judge = RecordedJudge(pair, record, pool, ahead=_AHEAD * count)
                found.verdicts, found.tally, found.kept = judge.tally, cursor.tally, out
                _Rerun(
                    record=record,
                    archive=archive,
                    cursor=cursor,
                    judge=judge,
                    threads=pool,
                    pair=pair,
                    found=found,
                    workers=count,
                    heard=tell,
                    sessions=sessions,
                    session=next(sessions),
                ).run()
        return found


def _other_judge(record: Record, pair: EvaluatorPair) -> Divergence | None:
    """Why nothing can be compared: what is installed is not what scored last; None if it is."""
    recorded, here = record.sessions[-1].judge, pair.identity()
    differing = [key for key in JUDGES if recorded[key] != here[key]]
    if not differing:
        return None
    sides = (", ".join(f"{key} {str(side[key])[:16]}" for key in differing) for side in (recorded, here))
    first, second = sides
    return Divergence(generation=0, what="what scores its programs differs", recorded=first, found=second)


@contextmanager
def _begun(
    record: Record, place: Path, task: Task, *, owned: bool
) -> Iterator[tuple[Archive, JournalCursor, str | None]]:
    """The new archive with its first event, the record at its second, and why the archive could not be noted as the
    user's, if so. `owned`: it is the user's, as the run that it repeats is; else it has no id."""
    run_id, unnoted = own_run(record.config) if owned else (None, None)
    text = record.config_text(record.sessions[0].config)
    Archive.create(place, config_text=text, identity=record.created.identity, run_id=run_id).close()
    cursor = JournalCursor(record, lenient=task.uses_clock or task.self_judged)
    cursor.advance()
    with Archive(RunReader.read(place, CheckedJournal(place, cursor))) as archive:
        cursor.archive = archive
        yield archive, cursor, unnoted


@dataclass(slots=True, kw_only=True)
class _Rerun:
    """One pass over a record; the listener of its loops. `heard` is `tell` of `rerun`."""

    record: Record
    archive: Archive
    cursor: JournalCursor
    judge: RecordedJudge
    threads: Threads
    sessions: Iterator[RecordedSession]  # those that are still to come
    session: RecordedSession  # the one that is done again now
    pair: EvaluatorPair
    found: Repeated
    workers: int
    heard: Callable[[int, int], None]

    def run(self) -> None:
        """Go through the record to its end, or to where what is found diverges from it."""
        cursor, found = self.cursor, self.found
        try:
            while (event := cursor.next) is not None:
                with suppress(SessionOver):
                    self._meet(event)
        except Diverged as diverged:
            found.divergence = diverged.divergence
        found.fingerprint = self.archive.reader.fingerprint()
        if found.divergence is None and not found.equal:
            shown = (found.recorded_fingerprint, found.fingerprint)
            what = "the fingerprint differs"
            found.divergence = Divergence(generation=None, what=what, recorded=shown[0], found=shown[1])

    def _meet(self, event: Event) -> None:
        """Do what leads to the next event on record. Raises Diverged where it leads to another one."""
        cursor = self.cursor
        match event:
            case ResumedEvent():
                self._resumed(event)
            case _ if cursor.stands(event):
                cursor.take_over()
            case RescoredEvent() if self.archive.reader.to_rescore and not cursor.judge_is_here:
                cursor.take_over()
            case EvaluatedEvent(generation=0):
                self._initial()
            case TuningBaselineEvent():
                measure_baseline(self.archive, self.pair, event.proposals, workers=self.workers)
            case ReorderedEvent():
                suite, interrupt = self.pair.evaluator.suite, threading.Event()
                try_new_orders(self.archive, suite, self.pair.others, interrupt=interrupt, tell=lambda event: None)
            case AskedEvent(by_hand=True):
                self._by_hand(event)
            case _:
                self._run_loop()
        if cursor.next is event:  # nothing led to it
            raise Diverged(cursor.unexpected(None))

    def _run_loop(self) -> None:
        """Let the loop go on as far as the session did."""
        pair, limited = self._here(), self.record.config_of(self.session)
        # The record says how far the session went.
        config = limited.model_copy(update=dict.fromkeys(("budget_usd", "budget_tokens", "budget_calls")))
        executor = RecordedExecutor(self, config)
        models = open_models(
            config,
            pair.task,
            pair.evaluator.suite,
            opened=lambda model: RecordedLLM(model.shown_name, self, executor),
        )
        search = open_search(models.search_settings(config))
        services = RunServices(archive=self.archive, config=config, evaluators=pair, models=models, search=search)
        Loop(services, executor, self, executor.admit).run()

    def _by_hand(self, asked: AskedEvent) -> None:
        """What `evolve tune` did, as far as it was not killed. Which program was tuned and what was found stand as
        recorded, since a person chose it; what comes of that is made, judged and compared."""
        number, evaluators, answer = asked.generation, self._here(), None
        self.cursor.take_over()
        if isinstance(answered := self.cursor.next, AnsweredEvent):
            answer = self.record.completion(answered)
            self.cursor.take_over()
        if answer is None or not isinstance(self.cursor.next, EvaluatedEvent):
            return
        choice = choice_to_tune(self.archive.reader.find(asked.parents[0]))
        self.judge.expect(number)
        judge = partial(judged, self.archive, evaluators, number, choice, answer)
        try:
            program, confirmation = self.threads.result(self.threads.submit(judge))
        except PatchError as refused:
            made = {"event": "refused", "generation": number, "attempt": 0, "reason": refused.reason}
            raise Diverged(self.cursor.unexpected(made)) from None
        record_tuning(self.archive, evaluators, question_of(number, asked.attempt, choice), program, confirmation)

    def _here(self) -> EvaluatorPair:
        """The evaluators, as far as they scored in the session."""
        held_out = self.pair.held_out if self.cursor.judge_is_here else None
        return replace(self.pair, evaluator=self.judge, held_out=held_out)

    def _initial(self) -> None:
        """The initial program is judged, and recorded."""
        record, cursor, threads = self.record, self.cursor, self.threads
        program = record.files(record.programs[0])
        cursor.judge_is_here = self.judge.is_here(record.judged_in[0])
        self.judge.expect(0)
        confirmed = threads.result(threads.submit(self._here().judge, program))
        begun_with = record.created.identity.get("initial")
        found = program_hash(program)
        if begun_with not in (None, found):
            what = "its program differs"
            raise Diverged(Divergence(generation=0, what=what, recorded=str(begun_with), found=found))
        record_initial(self.archive, program, confirmed, self.pair)

    def _resumed(self, event: ResumedEvent) -> None:
        """The next session begins, as `resume` does it."""
        before, self.session = self.session, next(self.sessions)
        changed = None if self.session.config == before.config else self.record.config_text(self.session.config)
        self.cursor.judge_is_here = self.judge.is_here(self.session)
        self.archive.resumed(
            config_text=changed, changed=event.changed, identity=event.identity or {}, rescore=event.rescore
        )
        while isinstance(excluded := self.cursor.next, ExcludedEvent):
            self.archive.excluded(excluded.generation)
        if self.archive.reader.programs and self.cursor.judge_is_here:
            rescore(self.archive, self.pair, workers=self.workers, tell=lambda done, of: None)

    def tell(self, event: ProgressEvent, now: Progress) -> None:
        """See Listener.tell."""
        self.heard(now.finished, self.found.generations)

    def tick(self, now: Progress) -> None:
        """See Listener.tick."""


class RecordedLLM:
    """A model of a rerun, which answers the questions for insights reports. The executor has the answers with
    patches."""

    def __init__(self, name: str, rerun: "_Rerun", executor: Executor) -> None:
        self.name, self._rerun, self._executor = name, rerun, executor

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd. The estimates on record stand: they rest on when earlier answers came."""
        return 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete; once the time of the answer has come. Nothing is sent, so there is no call to observe.
        Raises CallFailed as the model did then."""
        answer = self._executor.post(partial(self._answer, key))
        if answer is None:
            assert isinstance(key, MetaKey)
            why = self._rerun.record.meta_failures.get(key, "no answer to it is on record")
            raise CallFailed("connection", why)
        return answer

    def _answer(self, key: RequestKey) -> Completion | None:
        match self._rerun.cursor.next:
            case MetaAnsweredEvent() as event if event.key == key:
                return self._rerun.record.completion(event)
        return None


class RecordedExecutor(ThreadExecutor):
    """The executor of one session: jobs end when the record says so. `next_ended` raises Diverged for an event that
    nothing leads to."""

    def __init__(self, rerun: "_Rerun", config: Config) -> None:
        super().__init__(asking=1, evaluating=1)  # a round of insights runs in a thread of its own
        self._rerun, self._cursor, self._config = rerun, rerun.cursor, config
        self._waiting_for: Event | None = None
        self._under_way: UnderWay

    def admit(self, run: RunContext, under_way: UnderWay) -> Admission:
        """The admission of the loop that has these."""
        self._under_way = under_way
        return RecordedAdmission(self._rerun, self._config, under_way)

    def begin(self, job: Job) -> None:
        """See Executor.begin. Most jobs are done when the record says that they end."""
        if job.kind is JobKind.SUMMARISE:
            super().begin(job)

    def next_ended(self, timeout_s: float) -> Sequence[Ended]:
        """See Executor.next_ended: the job that ends next on record."""
        event, cursor = self._cursor.next, self._cursor
        match event:
            case _ if cursor.stands(event):
                cursor.take_over()
                return []
            case AnsweredEvent() if job := self._job(event.generation, *_ASKING):
                if job.kind is JobKind.ASK and not self._config.models:
                    return [self._done(job)]
                return [Ended(job=job, took_s=0.0, returned=self._rerun.record.completion(event))]
            case RefusedEvent() if job := self._job(event.generation, *_ASKING):
                why = CallFailed(cast("FailureReason", event.reason), event.message)
                return [Ended(job=job, took_s=0.0, raised=why)]
            case RefusedEvent() if job := self._job(event.generation, JobKind.EVALUATE):
                return [self._done(job)]
            case EvaluatedEvent() if job := self._job(event.generation, JobKind.EVALUATE):
                self._rerun.judge.expect(event.generation)
                return [self._done(job)]
            case RescoredEvent() if job := self._job(event.generation, JobKind.CONFIRM):
                if cursor.judge_is_here:
                    return [self._done(job)]
                evaluation = Evaluation.from_json(document_of(event)["evaluation"])
                return [Ended(job=job, took_s=0.0, returned=Confirmation(evaluation=evaluation))]
            case MetaAnsweredEvent() | SummarisingEvent() | SummarisedEvent() | ClosedEvent() if (
                self._under_way.summarises
            ):
                return self._go_on(event)
        if self._waiting_for is event:  # the loop had its chance to begin what leads to it
            raise Diverged(cursor.unexpected(None))
        self._waiting_for = event
        return []

    def close(self) -> Sequence[Ended | Callable[[], object]]:
        """See Executor.close. Nothing is left: the record says which answers came."""
        super().close()
        return []

    def _job(self, generation: int, *kinds: JobKind) -> Job | None:
        jobs = (job for job in self._under_way.flows if job.generation == generation and job.kind in kinds)
        return next(jobs, None)

    def _done(self, job: Job) -> Ended:
        return self._rerun.threads.result(self._rerun.threads.submit(partial(done, job, self.now)))

    def _go_on(self, event: Event) -> Sequence[Ended]:
        """Let the round under way write down what comes next on record; or let it end, where that is its end."""
        while self._cursor.next is event:
            self._rerun.threads.raise_interrupt()
            if ended := super().next_ended(timeout_s=0.1):
                return ended
        return []


class RecordedAdmission(Admission):
    """The admission of one session: anything begins when the record says so, and nothing is held back. It decides
    everything itself, and so has nothing of what a live one goes by."""

    def __init__(self, rerun: "_Rerun", config: Config, under_way: UnderWay) -> None:
        self._record, self._cursor, self._config, self._under_way = rerun.record, rerun.cursor, config, under_way

    def draining(self) -> bool:
        """See Admission.draining: what was not asked any more is not on record."""
        return False

    def sends(self) -> bool:
        """See Admission.sends. What was written down and not sent has no answer on record, and so never ends."""
        return True

    def confirmation_counts(self) -> bool:
        """See Admission.confirmation_counts: a confirmation ends when it counted."""
        return True

    def begins(self, number: int) -> bool:
        """See Admission.begins."""
        return self._asks(number)

    def takes_up(self, begun: Unfinished) -> bool:
        """See Admission.takes_up. A question says when its generation goes on, and a refusal when an answer is read; an
        answer that makes a program is read as soon as there is room, or the record goes on with what was cut off."""
        event, cut_off = self._cursor.next, self._under_way.cut_off
        if begun.answer is None:
            return self._asks(begun.generation)
        comes_next = getattr(event, "generation", None) in [one.generation for one in cut_off]
        refused = self._record.refusals.get((begun.generation, begun.attempt))
        if refused is not None and not comes_next:
            return event is not None and event.seq == refused
        return comes_next or len(self._under_way.flows) < self._config.parallel

    def summarises(self) -> bool:
        """See Admission.summarises."""
        return isinstance(self._cursor.next, SummarisingEvent) and not self._under_way.summarises

    def confirms(self, leading: ProgramRecord) -> bool:
        """See Admission.confirms."""
        event = self._cursor.next
        return isinstance(event, RescoredEvent) and event.generation == leading.generation

    def ends(self) -> StopReason | None:
        """See Admission.ends. Which reason it was decides nothing."""
        event = self._cursor.next
        over = event is None or isinstance(event, _AFTER_THE_LOOP) or self._closing()
        return StopReason.GENERATIONS if over or (isinstance(event, AskedEvent) and event.by_hand) else None

    def closes(self, *, unanswered: bool) -> bool:
        """See Admission.closes."""
        return self._closing()

    def stop(self, reason: StopReason) -> None:
        """See Admission.stop: the record says how far the session went."""

    def awaits_others(self) -> bool:
        """See Admission.awaits_others: the record says which generation has failed."""
        return False

    def _asks(self, generation: int) -> bool:
        """Whether a generation's question comes next."""
        event = self._cursor.next
        return isinstance(event, AskedEvent) and event.generation == generation and not event.by_hand

    def _closing(self) -> bool:
        """Whether the report that closes the session is to begin."""
        event = self._cursor.next
        closing = isinstance(event, ClosedEvent) or (
            isinstance(event, MetaAnsweredEvent) and event.key.closing is not None
        )
        return closing and not self._under_way.summarises
