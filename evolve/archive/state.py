"""The state of a run: the sum of its events, for a run that is written as for one that is opened."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from evaluator.evaluation import OrderRange
from evaluator.input_files import read_as
from evolve.archive import refs
from evolve.archive.calls import Accounts
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    AttemptEvent,
    AuditedEvent,
    CalledEvent,
    ClosedEvent,
    CreatedEvent,
    EvaluatedEvent,
    Event,
    ExcludedEvent,
    FreshEvent,
    FreshState,
    HeldOutEvent,
    LostEvent,
    MetaAnsweredEvent,
    NotedEvent,
    ProgramEvent,
    RefusedEvent,
    RemeasuredEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    RoundEvent,
    Status,
    StoppedEvent,
    SummarisedEvent,
    SummarisingEvent,
    TuningBaselineEvent,
)
from evolve.archive.journal import Entry
from evolve.archive.layout import PROGRAM
from evolve.archive.ranking import better, improves, program_record
from evolve.archive.records import (
    CONFIRMING,
    EVALUATED_REASONS,
    OPEN,
    AttemptRecord,
    FreshCheck,
    Funnel,
    MetaRecord,
    Moment,
    ProgramRecord,
)
from evolve.archive.timeline import Timeline
from evolve.core.completion import PatchKey, RequestKey

_AttemptEvent = AskedEvent | AnsweredEvent | RefusedEvent | EvaluatedEvent | LostEvent
_ProgramEvent = HeldOutEvent | FreshEvent | ReorderedEvent | RemeasuredEvent | RescoredEvent | ExcludedEvent
_RoundEvent = SummarisingEvent | MetaAnsweredEvent | SummarisedEvent | ClosedEvent

_MAY_FOLLOW: Mapping[type, tuple[Status, ...]] = {
    AnsweredEvent: (Status.ASKED,),
    LostEvent: (Status.ASKED,),
    RefusedEvent: (Status.ASKED, Status.ANSWERED),  # there was no answer, or none that can be used
    EvaluatedEvent: (Status.ANSWERED,),
}


class State:
    """The sum of all events so far. `check` says whether an event may come next; `apply` adds one that was written. The
    rest is for reading."""

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {}
        self.program_file = PROGRAM
        self.config_digest = ""
        self.run_id: str | None = None
        self.programs: list[ProgramRecord] = []
        self._index: dict[int, int] = {}  # by generation, its index in `programs`
        self.by_commit: dict[str, ProgramRecord] = {}
        self.by_generation: dict[int, ProgramRecord] = {}
        self.by_hash: dict[str, ProgramRecord] = {}
        self.places: dict[int, tuple[int, int]] = {}  # by generation: offset and length of its newest evaluation
        self.statuses: dict[int, Status] = {}
        self.generations: dict[int, AskedEvent] = {}  # their last questions; `statuses` says how they ended
        self.questions: dict[int, dict[int, AttemptRecord]] = {}
        self.open_generations: dict[int, None] = {}  # generations without an end, in order
        self.best: ProgramRecord | None = None
        self.held_out_scores: dict[int, HeldOutEvent] = {}  # by generation
        self.fresh_checks: dict[int, FreshCheck] = {}  # by generation
        self.reordered: dict[int, OrderRange] = {}  # by generation: scores in new orders, at a session's end
        self.remeasured: dict[int, RemeasuredEvent] = {}  # by generation: fresh pairs at a session's end
        self.claims: dict[int, str] = {}  # by generation: the listed values it beats; shown once confirmed
        self.confirmed: dict[int, None] = {}  # generations that were the best under the present judge
        self.refuted: dict[int, None] = {}  # generations whose confirmation did not make them the best
        self.waiting: list[int] = []  # candidates: generations above the best, not confirmed yet
        self.improving: set[int] = set()  # the candidates that the funnel counts as improved
        self.leading: int | None = None  # the candidate that is confirmed now, or next
        self.ended_at_lead = 0  # how many had ended when its turn came
        # By generation: how many had ended when its verdict was confirmed or withdrawn, and its record until then.
        self.first: dict[int, tuple[int, ProgramRecord]] = {}
        self.excluded: dict[int, None] = {}  # generations
        self.outdated: dict[int, None] = {}  # generations to score again, since the evaluator changed
        self.next_generation = 0
        self.ends: list[int] = []  # generations that have ended, in that order
        self.turns: list[tuple[int, bool]] = []  # what a search knows: `ends`, and (True) confirmations
        # Confirmed before another generation had ended, as at a limit: they count when one has, so that the length of a
        # session makes no difference.
        self._confirmed_later: list[int] = []
        self.ended_at_best = 0  # how many had ended when the best program came, itself included
        self.best_history: list[tuple[int, ProgramRecord | None]] = []  # (how many had ended, best or None)
        self.timeline = Timeline()
        self.made_of: dict[str, list[int]] = {}  # by parent commit: its ended generations with an answer
        self.accounts = Accounts()
        self.began = self.newest = 0.0  # wall seconds of the first and the newest event
        self.times: dict[int, float] = {}  # by generation: when it got its present status
        self.moments: dict[int, Moment] = {}  # by generation, at its end
        self.tuning_baseline: TuningBaselineEvent | None = None  # under the present judge
        self.audited: AuditedEvent | None = None  # the newest audit, under the present judge
        self.finished: str | None = None
        self.answered_since_stop = False
        self.funnel = Funnel()
        self.texts: list[tuple[str, str]] = []  # (name, blob): prompts and answers, as they were recorded
        self.certificates: dict[int, str] = {}  # by generation, under the present judge
        self.certificate_chain: str | None = None  # the newest commit of refs/evolve/certificates
        self.meta = MetaRecord(begun=0, shown=0)

    # -- what may come next -------------------------------------------------------------------------------------

    def check(self, event: Event) -> None:
        """Raise ValueError if an event cannot follow what was recorded: the caller's mistake, or a damaged file."""
        name = event.event
        match event:
            case SummarisingEvent() | SummarisedEvent() | ClosedEvent():
                if not 1 <= event.programs <= len(self.programs):
                    raise ValueError(f"{name} for {event.programs} programs: {len(self.programs)} are on record")
            case AuditedEvent():
                audited = {*event.holds, *event.unjudged, *(fallen["generation"] for fallen in event.falls)}
                if not audited <= self.statuses.keys():
                    raise ValueError(f"{name}: there is no generation {min(audited - self.statuses.keys())}")
            case TuningBaselineEvent():
                if not self.programs:
                    raise ValueError(f"{name}: there is no initial program")
            case NotedEvent():
                if event.generation not in self.statuses:
                    raise ValueError(f"{name} for generation {event.generation}: there is no such generation")
            case _ if isinstance(event, _ProgramEvent):
                program = self.by_generation.get(event.generation)
                if program is None or not self._is_awaited(event, program):
                    raise ValueError(f"{name} for generation {event.generation}: no program there waits for it")
            case AskedEvent() | AnsweredEvent() | RefusedEvent() | EvaluatedEvent() | LostEvent():
                self._check_attempt(event)

    def _check_attempt(self, event: AttemptEvent) -> None:
        generation = event.generation
        what = f"{event.event} for generation {generation}, attempt {event.attempt}"
        if isinstance(event, AskedEvent | EvaluatedEvent):
            for commit in (*event.parents, *event.inspirations):
                if commit not in self.by_commit:
                    raise ValueError(f"{what}: {commit} is no recorded program")
        if generation in self.statuses and generation not in self.open_generations:
            raise ValueError(f"{what}: that generation has ended ({self.statuses[generation].value})")
        recorded = self.questions.get(generation, {}).get(event.attempt)
        if isinstance(event, AskedEvent):
            if (guidance := event.guidance) is not None and guidance["document"] not in self.meta.reports:
                raise ValueError(f"{what}: there is no insights report after {guidance['document']} programs")
            if recorded is not None and recorded.status is not Status.ASKED:
                raise ValueError(f"{what}: it is answered already")
            return
        if isinstance(event, EvaluatedEvent) and generation not in self.questions:
            return  # the initial program, which no model wrote
        if recorded is None:
            raise ValueError(f"{what}: it was never asked")
        if recorded.status not in _MAY_FOLLOW[type(event)]:
            wanted = " or ".join(_MAY_FOLLOW[type(event)])
            raise ValueError(f"{what}: it is {recorded.status.value}, not {wanted}")

    def _is_awaited(self, event: ProgramEvent, program: ProgramRecord) -> bool:
        """Whether an event about a program may come next."""
        match event:
            case HeldOutEvent():
                return program.generation not in self.held_out_scores
            case RescoredEvent():
                return program.stale or program.generation == self.leading
            case ExcludedEvent():
                return bool(program.parents) and not program.excluded
        return True

    # -- adding an event ----------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Add an event. Raises ValueError if it cannot come next."""
        event = entry.event
        if isinstance(event, CreatedEvent) != (entry.line == 1):
            raise ValueError("`created` must be the first event, and only that")
        self.check(event)
        self.newest = event.t
        self.timeline.add(event)
        CONSEQUENCES[type(event)](self, event)
        if isinstance(event, EvaluatedEvent | RescoredEvent):
            self.places[event.generation] = (entry.offset, entry.length)

    def _created(self, event: CreatedEvent) -> None:
        self.began = self.newest
        self.identity = event.identity
        self.program_file = event.identity.get("program", PROGRAM)
        self.config_digest = event.config
        self.run_id = event.run_id

    def _stopped(self, event: StoppedEvent) -> None:
        self.finished, self.answered_since_stop = event.reason, False

    def _tuned(self, event: TuningBaselineEvent) -> None:
        self.tuning_baseline = event

    def _audited(self, event: AuditedEvent) -> None:
        self.audited = event

    def _reordered(self, event: ReorderedEvent) -> None:
        self.reordered[event.generation] = read_as(OrderRange, event.orders)

    def _remeasured(self, event: RemeasuredEvent) -> None:
        self.remeasured[event.generation] = event

    def _held_out(self, event: HeldOutEvent) -> None:
        self.held_out_scores[event.generation] = event
        if event.overfitted is not None:
            self._keep(replace(self.by_generation[event.generation], overfitted=event.overfitted))
        self._update_claim(event.generation)

    def _fresh(self, event: FreshEvent) -> None:
        before = self.fresh_check(event.generation)
        self.fresh_checks[event.generation] = FreshCheck(samples=(*before.samples, event))
        self._update_claim(event.generation)

    def fresh_check(self, generation: int) -> FreshCheck:
        """The check of a program on fresh instances, as far as it has gone."""
        return self.fresh_checks.get(generation, FreshCheck())

    def holds(self, record: ProgramRecord, states: Collection[FreshState]) -> bool:
        """Whether a program passes the held-out suite, if it was tried, and its check on fresh instances is in one of
        these states."""
        held_out = self.held_out_scores.get(record.generation)
        fits = record.overfitted is None and (held_out is None or held_out.correct)
        return fits and self.fresh_check(record.generation).state in states

    def _update_claim(self, generation: int) -> None:
        """Show that a program is better than every listed value only while it is confirmed."""
        record = self.by_generation[generation]
        shown = self.claims.get(generation) if self.holds(record, CONFIRMING) and not record.excluded else None
        if shown != record.beyond:
            self._keep(replace(record, beyond=shown))

    def _excluded(self, event: ExcludedEvent) -> None:
        """A person takes a program out. The best is again the highest that was confirmed; programs above it that were
        never confirmed become candidates."""
        old = self.by_generation[event.generation]
        was_best = self.best is old
        self.excluded[old.generation] = None
        self._keep(replace(old, excluded=True, beyond=None))
        if was_best:
            self._clear_best()
            settled = self.confirmed | self.refuted
            highest = self.highest(settled)
            if highest is not None:
                self._update_best(highest)
            self.waiting = [record.generation for record in self.programs if record.generation not in settled]
        self._look_for_lead()

    def highest(self, generations: Iterable[int]) -> ProgramRecord | None:
        """The program that ranks above the others of these generations."""
        highest = None
        for record in (self.by_generation[generation] for generation in generations):
            highest = record if not record.stale and better(record, highest) else highest
        return highest

    def _look_for_lead(self) -> None:
        """Drop the candidates that no longer rank above the best. The leading one stays until it has its verdict; then
        the highest one leads."""
        records = (self.by_generation[generation] for generation in self.waiting)
        self.waiting = [record.generation for record in records if not record.stale and better(record, self.best)]
        if self.leading not in self.waiting:
            highest = self.highest(self.waiting)
            self.leading, self.ended_at_lead = None if highest is None else highest.generation, len(self.ends)

    def _resumed(self, event: ResumedEvent) -> None:
        self.finished = None
        self.config_digest = event.config or self.config_digest
        if event.identity:
            self._outdate(event.identity)
            self.outdated = dict.fromkeys(event.rescore)
        self.accounts.resumed()

    def _outdate(self, identity: Mapping[str, Any]) -> None:
        """Another evaluator scores from here on: earlier scores are never compared again."""
        self.identity = dict(self.identity) | dict(identity)
        for record in self.programs:
            self._keep(replace(record, stale=True))
        self.held_out_scores, self.fresh_checks, self.reordered, self.certificates = {}, {}, {}, {}
        self.remeasured = {}
        self.confirmed, self.refuted, self.first, self.tuning_baseline = {}, {}, {}, None
        self.audited = None
        self._clear_best()
        self._look_for_lead()

    def _clear_best(self) -> None:
        self.best, self.ended_at_best = None, len(self.ends)
        self.best_history.append((self.ended_at_best, None))

    def _rescored(self, event: RescoredEvent) -> None:
        old = self.by_generation[event.generation]
        scored = program_record(old, event.evaluation)
        record = self._withhold_claim(replace(scored, moment=old.moment, excluded=old.excluded))
        if not old.stale:
            self._settle(old, record)
        self.outdated.pop(record.generation, None)
        self._keep(record)
        self._certify(record.generation, event)
        self._update_best(record)
        self._look_for_lead()

    def _settle(self, old: ProgramRecord, record: ProgramRecord) -> None:
        """A candidate has its verdict."""
        self.refuted[record.generation] = None  # unless it becomes the best
        self.first[record.generation] = len(self.ends), old
        if record.correct and self.ended_at_lead == len(self.ends):
            self._confirmed_later.append(record.generation)
        else:
            self.turns.append((record.generation, True))
        self.waiting.remove(record.generation)
        if not record.correct and record.parents:
            before, improved = self.funnel, record.generation in self.improving
            self.funnel = replace(before, correct=before.correct - 1, improved=before.improved - improved)

    def _keep(self, record: ProgramRecord) -> None:
        """Put a record in the place of the program's old one."""
        self.programs[self._index[record.generation]] = record
        self.by_commit[record.commit] = self.by_generation[record.generation] = record
        if self.best is not None and self.best.generation == record.generation:
            self.best = record

    def _certify(self, generation: int, event: EvaluatedEvent | RescoredEvent) -> None:
        if event.certificate is not None:
            self.certificates[generation] = self.certificate_chain = event.certificate

    def _withhold_claim(self, record: ProgramRecord) -> ProgramRecord:
        """A record without its claim against listed values, which is shown once the program is confirmed."""
        self.claims.pop(record.generation, None)
        if record.beyond is None:
            return record
        self.claims[record.generation] = record.beyond
        return replace(record, beyond=None)

    def _update_best(self, record: ProgramRecord) -> None:
        if better(record, self.best):
            self.best = record
            self.confirmed[record.generation] = None
            self.refuted.pop(record.generation, None)
            self.ended_at_best = max(self.ended_at_best, record.moment.position)
            self.best_history.append((self.ended_at_best, record))

    def _asked(self, event: AskedEvent) -> None:
        generation, attempt = event.generation, event.attempt
        key = PatchKey(generation, attempt)
        self.accounts.asked(key, event)
        before = self.questions.get(generation, {}).get(attempt)
        if before is None or before.prompt != event.prompt:
            self._keep_texts(key, prompt=event.prompt)
        self.generations[generation] = event
        self.questions.setdefault(generation, {})[attempt] = AttemptRecord(
            generation=generation,
            attempt=attempt,
            status=Status.ASKED,
            model=event.model,
            parent=event.parents[0],
            prompt=event.prompt,
            guidance=event.guidance,
            shortened=event.shortened,
            instead_of=event.instead_of,
            repair=event.repair,
        )
        self._set_status(generation, Status.ASKED)

    def _answered(self, event: AnsweredEvent) -> None:
        generation, attempt = event.generation, event.attempt
        key = PatchKey(generation, attempt)
        self.accounts.answered(key, event.usage)
        self.answered_since_stop |= event.tuning is None  # a search asks no model
        self._keep_texts(key, answer=event.answer, reasoning=event.reasoning)
        self.questions[generation][attempt] = replace(
            self.questions[generation][attempt],
            status=Status.ANSWERED,
            answer=event.answer,
            usage=event.usage,
            finish_reason=event.finish_reason,
            reasoning=event.reasoning,
            tuning=event.tuning,
        )
        self._set_status(generation, Status.ANSWERED)

    def _summarised(self, event: RoundEvent) -> None:
        self.meta = _meta_after(self.meta, event, asked=self.next_generation)
        if isinstance(event, MetaAnsweredEvent):
            self.accounts.answered(event.key, event.usage)
            self._keep_texts(event.key, prompt=event.prompt, answer=event.answer)

    def _keep_texts(self, key: RequestKey, **texts: str | None) -> None:
        stem = str(key).replace("/", "-")
        self.texts += [(f"{stem}-{name}.txt", blob) for name, blob in texts.items() if blob is not None]

    def _refused(self, event: RefusedEvent) -> None:
        generation, attempt, status = event.generation, event.attempt, event.status
        self.accounts.given_up(PatchKey(generation, attempt))
        if self.questions[generation][attempt].status is Status.ANSWERED:
            failed = event.reason in EVALUATED_REASONS
            self._count(applied=failed or status is Status.DUPLICATE, new=failed)
        self.questions[generation][attempt] = replace(
            self.questions[generation][attempt],
            status=status,
            reason=event.reason,
            message=event.message,
            followed=event.followed,
        )
        self._set_status(generation, status if event.final else Status.ASKED)

    def _evaluated(self, event: EvaluatedEvent) -> None:
        record = self._withhold_claim(replace(program_record(event, event.evaluation), moment=self._moment()))
        generation, attempt = record.generation, event.attempt
        self._index[generation] = len(self.programs)
        self.programs.append(record)
        self._keep(record)
        self.by_hash.setdefault(record.source_hash, record)
        if generation in self.questions:
            parent = self.by_commit[record.parents[0]]
            improved = improves(record, parent)
            self._count(applied=True, new=True, correct=record.correct, improved=improved)
            if improved and event.provisional:
                self.improving.add(generation)
            self.questions[generation][attempt] = replace(
                self.questions[generation][attempt], status=Status.EVALUATED, followed=event.followed
            )
        self._set_status(generation, Status.EVALUATED)
        self._certify(record.generation, event)
        if event.provisional:
            self.waiting.append(generation)
        else:
            self._update_best(record)
        self._look_for_lead()

    def deciding(self, generation: int) -> AttemptRecord | None:
        """The question that says why a generation has no program: the last one, or the last whose program failed if
        there was no answer after it."""
        attempts = list(self.questions.get(generation, {}).values())
        if attempts and attempts[-1].answer is None and attempts[-1].status not in OPEN:
            failed = (attempt for attempt in reversed(attempts) if attempt.failure is not None)
            return next(failed, attempts[-1])
        return attempts[-1] if attempts else None

    def tried(self, generation: int) -> bool:
        """Whether a generation has ended, and with more than a failed call."""
        status, deciding = self.statuses.get(generation), self.deciding(generation)
        if deciding is None or status in OPEN:
            return False
        return status is not Status.FAILED or deciding.answer is not None

    def _set_status(self, generation: int, status: Status) -> None:
        self.next_generation = max(self.next_generation, generation + 1)
        self.statuses[generation] = status
        self.times[generation] = self.newest
        if status in OPEN:
            self.open_generations[generation] = None
        else:
            self.open_generations.pop(generation, None)
            self.moments[generation] = self._moment()
            self.ends.append(generation)
            self.turns += [(generation, False), *((confirmed, True) for confirmed in self._confirmed_later)]
            self._confirmed_later = []
            if self.tried(generation):
                self.made_of.setdefault(self.generations[generation].parents[0], []).append(generation)

    def _moment(self) -> Moment:
        return Moment(t=self.newest, position=len(self.ends) + 1, spent=self.accounts.spent)

    def _count(self, *, applied: bool, new: bool = False, correct: bool = False, improved: bool = False) -> None:
        """Count an answer, and the stages that it reached."""
        before = self.funnel
        self.funnel = Funnel(
            answered=before.answered + 1,
            applied=before.applied + applied,
            new=before.new + new,
            correct=before.correct + correct,
            improved=before.improved + improved,
        )

    # -- what follows from it -----------------------------------------------------------------------------------

    def wanted_refs(self) -> dict[str, str]:
        """Every ref that there should be, in order of name, but that of prompts and answers."""
        wanted = {refs.tag(record.generation): record.commit for record in self.programs}
        best = None if self.best is None else self.best.commit
        heads = {refs.BEST: best, refs.CERTIFICATES: self.certificate_chain}
        wanted |= {name: commit for name, commit in heads.items() if commit is not None}
        return dict(sorted(wanted.items()))


CONSEQUENCES: Final[Mapping[type, Callable[[State, Any], None]]] = {
    CreatedEvent: State._created,
    ResumedEvent: State._resumed,
    StoppedEvent: State._stopped,
    AskedEvent: State._asked,
    CalledEvent: lambda state, event: state.accounts.called(event),
    AnsweredEvent: State._answered,
    LostEvent: lambda state, event: state.accounts.lost(PatchKey(event.generation, event.attempt)),
    RefusedEvent: State._refused,
    EvaluatedEvent: State._evaluated,
    HeldOutEvent: State._held_out,
    FreshEvent: State._fresh,
    ReorderedEvent: State._reordered,
    RemeasuredEvent: State._remeasured,
    RescoredEvent: State._rescored,
    ExcludedEvent: State._excluded,
    SummarisingEvent: State._summarised,
    MetaAnsweredEvent: State._summarised,
    SummarisedEvent: State._summarised,
    ClosedEvent: State._summarised,
    TuningBaselineEvent: State._tuned,
    AuditedEvent: State._audited,
    NotedEvent: lambda state, event: None,  # the timeline has it; nothing else follows from it
}
"""What each kind of event changes."""


def _meta_after(meta: MetaRecord, event: RoundEvent, *, asked: int) -> MetaRecord:
    """The record after `event`, when `asked` generations had been asked for, the initial one included.

    A round that was cut off and begins again keeps the answers that were paid for. A round that closes a session is no
    part of the search: it leaves the next round as it was.
    """
    match event:
        case SummarisingEvent():
            return replace(meta, begun=event.programs, position=event.position)
        case MetaAnsweredEvent():
            return replace(meta, answers={**meta.answers, event.key: event})
    if event.report is not None:
        meta = replace(
            meta,
            reports={**meta.reports, event.programs: event.report},
            corrections={**meta.corrections, event.programs: event.ended.notes},
            written={**meta.written, event.programs: event.t},
        )
    if isinstance(event, ClosedEvent):
        return replace(meta, closings=(*meta.closings, event.programs))
    return replace(
        meta,
        begun=event.programs,
        shown=meta.shown if event.report is None else event.programs,
        asked=meta.asked if event.report is None else asked,
        calls=sum(key.closing is None for key in meta.answers),
        position=None,
        state=meta.state.after(event.ended),
        problems=event.ended.failures,
        answers={},
    )
