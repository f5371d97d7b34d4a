"""One session of a rerun: the loop itself, whose jobs end, and which begins anything, when the record says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar, cast

from evaluator.evaluation import Evaluation
from evaluator.waiting import Threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    ClosedEvent,
    EvaluatedEvent,
    Event,
    FreshEvent,
    MetaAnsweredEvent,
    NotedEvent,
    RefusedEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    StoppedEvent,
    SummarisedEvent,
    SummarisingEvent,
    TuningBaselineEvent,
    document_of,
)
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.core.completion import CallFailed, Completion, FailureReason, MetaKey
from evolve.core.config import MOST_AT_ONCE
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair
from evolve.loop.admission import Admission, UnderWay
from evolve.loop.context import RunContext
from evolve.loop.executor import Ended, Job, JobKind, ThreadExecutor, done
from evolve.loop.rerun.divergence import Diverged, divergence_of
from evolve.loop.rerun.record import Record, RecordedSession
from evolve.loop.rerun.tape import Tape
from evolve.loop.rerun.verdicts import RecordedJudge
from evolve.search.stopping import StopReason

_T = TypeVar("_T")

_AFTER_THE_LOOP: Final = (ResumedEvent, StoppedEvent, NotedEvent, FreshEvent, ReorderedEvent, TuningBaselineEvent)
_ASKING: Final = (JobKind.ASK, JobKind.TUNE)
"""What ends with an answer. What a search for better numbers found is taken from the record, as a model's answer is."""


@dataclass(slots=True, kw_only=True)
class Tools:
    """What every session of a rerun works with, and which one is done again now."""

    record: Record
    archive: Archive
    tape: Tape
    judge: RecordedJudge
    evaluators: EvaluatorPair  # whose evaluator is that judge
    threads: Threads
    session: RecordedSession


class RecordedExecutor(ThreadExecutor, Admission):
    """The executor and the admission of one session. `next_ended` raises Diverged for an event that nothing leads to,
    and `begins` and `takes_up` for a question to a model that the run does not have."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(asking=1, evaluating=1)  # a round of insights runs in a thread of its own
        session = tools.session
        config = tools.record.config_of(session)
        self._tools, self._tape, self._session = tools, tools.tape, session
        self._offline = not config.models
        self._parallel = MOST_AT_ONCE if "parallel" in session.unknown else config.parallel
        self._waiting_for: Event | None = None
        self._run: RunContext
        self._under_way: UnderWay

    def admit(self, run: RunContext, under_way: UnderWay) -> Admission:
        """The admission of the loop that has these."""
        self._run, self._under_way = run, under_way
        return self

    # -- the executor ---------------------------------------------------------------------------------------------

    def begin(self, job: Job) -> None:
        """See Executor.begin. Most jobs are done when the record says that they end."""
        if job.kind is JobKind.SUMMARISE:
            super().begin(job)

    def next_ended(self, timeout_s: float) -> Sequence[Ended]:
        """See Executor.next_ended: the job that ends next on record."""
        event, tape = self._tape.next, self._tape
        match event:
            case _ if tape.stands(event):
                tape.take_over()
                return []
            case AnsweredEvent() if job := self._job(event.generation, *_ASKING):
                if job.kind is JobKind.ASK and self._offline:
                    return [self._done(job)]
                return [Ended(job=job, took_s=0.0, returned=self._tools.record.completion(event))]
            case RefusedEvent() if job := self._job(event.generation, *_ASKING):
                why = CallFailed(cast("FailureReason", event.reason), event.message)
                return [Ended(job=job, took_s=0.0, raised=why)]
            case RefusedEvent() if job := self._job(event.generation, JobKind.EVALUATE):
                return [self._done(job)]
            case EvaluatedEvent() if job := self._job(event.generation, JobKind.EVALUATE):
                self._tools.judge.expect(event.generation)
                return [self._done(job)]
            case RescoredEvent() if job := self._job(event.generation, JobKind.CONFIRM):
                if tape.judge_is_here:
                    return [self._done(job)]
                evaluation = Evaluation.from_json(document_of(event)["evaluation"])
                return [Ended(job=job, took_s=0.0, returned=Confirmation(evaluation=evaluation))]
            case MetaAnsweredEvent() | SummarisingEvent() | SummarisedEvent() | ClosedEvent() if self._summarises():
                return self._go_on(event)
            case AskedEvent() if tape.as_recorded and event.generation == self._run.archive.reader.next_generation:
                begun = Unfinished(asked=event, attempt=0, refusals=(), answer=None)
                self._under_way.cut_off.appendleft(begun)
                return []
        if self._waiting_for is event:  # the loop had its chance to begin what leads to it
            raise Diverged(tape.unexpected(None))
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
        return self._tools.threads.result(self._tools.threads.submit(partial(done, job, self.now)))

    def _go_on(self, event: Event) -> Sequence[Ended]:
        """Let the round under way write down what comes next on record; or let it end, where that is its end."""
        while self._tape.next is event:
            self._tools.threads.raise_interrupt()
            if ended := super().next_ended(timeout_s=0.1):
                return ended
        return []

    def meta_answer(self, key: MetaKey) -> Completion:
        """The answer to a question of the round under way, once its time has come; for the thread of the round. Raises
        CallFailed as the model did then."""
        answer = self.post(partial(self._meta_answer, key))
        if answer is None:
            why = self._tools.record.meta_failures.get(key, "no answer to it is on record")
            raise CallFailed("connection", why)
        return answer

    def _meta_answer(self, key: MetaKey) -> Completion | None:
        match self._tape.next:
            case MetaAnsweredEvent() as event if event.key == key:
                return self._tools.record.completion(event)
        return None

    # -- the admission --------------------------------------------------------------------------------------------

    def begins(self, number: int) -> bool:
        """See Admission.begins. A question that stands as recorded is taken up as one that was cut off."""
        return not self._tape.as_recorded and self._asks(number) and not self._is_by_hand()

    def takes_up(self, begun: Unfinished) -> bool:
        """See Admission.takes_up. A question says when its generation goes on, and a refusal when an answer is read; an
        answer that makes a program is read as soon as there is room, or the record goes on with what was cut off."""
        event, cut_off = self._tape.next, self._under_way.cut_off
        if self._is_by_hand():
            return False
        if begun.answer is None:
            if not self._asks(begun.generation):
                return False
            if self._tape.as_recorded and isinstance(event, AskedEvent):
                cut_off[0] = replace(begun, asked=event)
            return True
        comes_next = getattr(event, "generation", None) in [one.generation for one in cut_off]
        refused = self._tools.record.refusals.get((begun.generation, begun.attempt))
        if refused is not None and not comes_next:
            return event is not None and event.seq == refused
        return comes_next or len(self._under_way.flows) < self._parallel

    def summarises(self) -> bool:
        """See Admission.summarises."""
        return isinstance(self._tape.next, SummarisingEvent) and not self._summarises()

    def confirms(self, leading: ProgramRecord) -> bool:
        """See Admission.confirms."""
        event = self._tape.next
        return isinstance(event, RescoredEvent) and event.generation == leading.generation

    def ends(self) -> StopReason | None:
        """See Admission.ends. Which reason it was decides nothing."""
        event = self._tape.next
        over = event is None or isinstance(event, _AFTER_THE_LOOP) or self._is_by_hand() or self._closing()
        return StopReason.GENERATIONS if over else None

    def closes(self, *, unanswered: bool) -> bool:
        """See Admission.closes."""
        return self._closing()

    def stop(self, reason: StopReason) -> None:
        """See Admission.stop: the record says how far the session went."""

    def _asks(self, generation: int) -> bool:
        """Whether a generation's question comes next."""
        event, run = self._tape.next, self._run
        if not isinstance(event, AskedEvent) or event.generation != generation:
            return False
        if self._tape.as_recorded and event.model not in (*run.models.proposers, run.tuner.name):
            recorded, text = document_of(event), self._tape.text
            found = recorded | {"model": "none of that name"}
            raise Diverged(divergence_of(recorded, found, text=text, made=text))
        return True

    def _is_by_hand(self) -> bool:
        return self._tools.record.is_by_hand(self._tape.next, self._session)

    def _summarises(self) -> bool:
        return self._under_way.count(JobKind.SUMMARISE) > 0

    def _closing(self) -> bool:
        """Whether the report that closes the session is to begin."""
        event = self._tape.next
        closing = isinstance(event, ClosedEvent) or (
            isinstance(event, MetaAnsweredEvent) and event.key.closing is not None
        )
        return closing and not self._summarises()
