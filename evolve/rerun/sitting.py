"""One session of a run that is done again: the real generations and rounds, each moved on when the record says so."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from evaluator.waiting import Threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AnsweredEvent,
    AskedEvent,
    EvaluatedEvent,
    Event,
    MetaAnsweredEvent,
    RefusedEvent,
    RescoredEvent,
    document_of,
)
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.completion import CallFailed, FailureReason
from evolve.config import MOST_AT_ONCE
from evolve.judging.evaluators import EvaluatorPair
from evolve.loop.generation import RunContext, confirming, generation, tell_confirmed
from evolve.loop.loop import restore
from evolve.loop.mailbox import Mailbox
from evolve.loop.steps import Steps, Wait, WaitPhase
from evolve.loop.summaries import Summaries, summarising
from evolve.opening import open_models
from evolve.propose.requests import Requests
from evolve.rerun.parting import Parted, part_of
from evolve.rerun.record import Record, Sitting
from evolve.rerun.stand_ins import (
    RecordedAnswers,
    RecordedCalls,
    RecordedLLM,
    RecordedProposer,
    RecordedSearch,
    RecordedSummaries,
)
from evolve.rerun.tape import Tape
from evolve.rerun.verdicts import RecordedJudge
from evolve.search.strategies import open_search
from evolve.tuning.tuner import tuner_of

_ASKING: Final = (WaitPhase.ASKING, WaitPhase.TUNING)
"""What ends with an answer. What a search for better numbers found is taken from the record, as a model's answer is."""


@dataclass(slots=True, kw_only=True)
class Tools:
    """What every session of a run that is done again works with."""

    record: Record
    archive: Archive
    tape: Tape
    judge: RecordedJudge
    evaluators: EvaluatorPair  # whose evaluator is that judge
    threads: Threads


@dataclass(slots=True, kw_only=True)
class Moved:
    """A generator under way: what it waits for, and the work on that, once it has begun."""

    steps: Steps
    wait: Wait | None = None
    work: Future[Any] | None = None


class RepeatedSession:
    """One session, from its beginning (`begin`) to its end (`close`). Every method may raise Parted, and SessionOver
    where the session on record was cut off."""

    def __init__(self, tools: Tools, sitting: Sitting) -> None:
        self._tools, self._sitting = tools, sitting
        record, tape, archive = tools.record, tools.tape, tools.archive
        config = record.config_of(sitting)
        tape.as_recorded = not sitting.questions_known
        tape.judge_is_here = tools.judge.is_here(sitting.number)
        awaited = (key for key, number in record.meta_answers.items() if number == sitting.number)
        self._answers = RecordedAnswers(awaited, record.meta_failures)
        self._parallel = MOST_AT_ONCE if "parallel" in sitting.unknown else config.parallel
        # A question may be put while others wait for their answers, in whichever order these come.
        unlimited = {"parallel": MOST_AT_ONCE, "budget_usd": None, "budget_tokens": None, "budget_calls": None}
        many = config.model_copy(update=unlimited)  # the record says how far it went
        task, pair = tools.evaluators.task, tools.evaluators
        models = open_models(
            many,
            task,
            pair.evaluator.suite,
            threading.Event(),
            opened=lambda model: RecordedLLM(model.shown_name, tape, self._answers),
        )
        self._offline = not config.models
        search, proposers = open_search(models.search_settings(config)), models.proposers
        if tape.as_recorded:
            search = RecordedSearch(search, tape)
            proposers = {name: RecordedProposer(proposer, tape) for name, proposer in proposers.items()}
        self._mailbox = Mailbox()
        self._over = threading.Event()
        calls = RecordedCalls(
            archive, self._mailbox, tape=tape, config=many, usual=models.usual, hurried=self._over.is_set
        )
        if tape.as_recorded:
            mine = [key for key, number in record.meta_answers.items() if number == sitting.number]
            summaries: Summaries = RecordedSummaries(
                archive,
                models.writer,
                prompts={key: tape.text(record.meta_prompts[key]) for key in mine},
                failed=record.meta_failures,
                config=config,
                mailbox=self._mailbox,
                calls=calls,
            )
        else:
            summaries = Summaries(archive, models.writer, config=config, mailbox=self._mailbox, calls=calls)
        self._run = RunContext(
            archive=archive,
            config=config,
            search=search,
            proposers=proposers,
            tuner=tuner_of(config, archive.reader, pair),
            evaluators=pair if tape.judge_is_here else replace(pair, held_out=None),
            requests=Requests(archive.reader, seed=config.seed, elites=config.search.elites),
            summaries=summaries,
            calls=calls,
            tell=lambda event: None,
        )
        self._flows: dict[int, Moved] = {}
        self._cut_off: deque[Unfinished] = deque()
        self._round: Moved | None = None

    def begin(self) -> None:
        """Take up what the sessions before have left."""
        self._cut_off.extend(restore(self._run))
        self.take_up()

    def close(self) -> None:
        """Drop what is under way: the session on record went no further."""
        self._over.set()
        self._answers.close()
        self._mailbox.close()
        for flow in [*self._flows.values(), *([] if self._round is None else [self._round])]:
            flow.steps.close()
        self._flows, self._round = {}, None

    # -- what the record says happens next ------------------------------------------------------------------------

    def asked(self, event: AskedEvent) -> None:
        """A generation asks: for the first time, or taken up after a session's end."""
        number, tape = event.generation, self._tools.tape
        recorded = document_of(event)
        if tape.as_recorded and event.model not in (*self._run.proposers, self._run.tuner.name):
            raise Parted(part_of(recorded, recorded | {"model": "none of that name"}, text=tape.text, made=tape.text))
        if any(begun.generation == number for begun in self._cut_off):
            self._taken_up(number)
        elif number in self._flows or number in self._tools.archive.reader.statuses:
            return  # nothing here leads to it
        else:
            self._start(number, generation(self._run, number))

    def answered(self, event: AnsweredEvent) -> None:
        """An answer comes: the one on record, or the offline proposer's own, made anew."""
        flow = self._flow(event.generation)
        if flow is None or flow.wait is None or flow.wait.phase not in _ASKING:
            return
        own = self._offline and flow.wait.phase is WaitPhase.ASKING
        completion = self._result(flow) if own else self._tools.record.completion(event)
        self._advance(event.generation, flow, partial(flow.steps.send, completion))

    def refused(self, event: RefusedEvent) -> None:
        """A generation ends without an answer, or the failed evaluation of a program goes back to its model; what is
        refused of an answer follows from that."""
        flow = self._flow(event.generation)
        if flow is None or flow.wait is None:
            return
        if flow.wait.phase is WaitPhase.EVALUATING:
            self._hand_over(event.generation)
        if flow.wait is None or flow.wait.phase not in _ASKING or self._tools.tape.next is not event:
            return
        why = CallFailed(cast("FailureReason", event.reason), event.message)
        self._advance(event.generation, flow, partial(flow.steps.throw, why))

    def evaluated(self, event: EvaluatedEvent) -> None:
        """The verdict on a program is recorded."""
        number = event.generation
        self._flow(number)  # begun, if it was cut off
        while (flow := self._flows.get(number)) is not None and flow.wait is not None:
            if flow.wait.phase in _ASKING or self._tools.tape.next is not event:
                return
            self._hand_over(number)

    def confirmed(self, event: RescoredEvent) -> None:
        """What came of confirming a program is recorded."""
        leading = self._tools.archive.reader.would_lead
        if leading is None or leading.generation != event.generation:
            return  # nothing here leads to it
        steps = confirming(self._run)
        result = self._tools.threads.result(self._tools.threads.submit(next(steps).job))
        with contextlib.suppress(StopIteration):
            steps.send(result)

    def took_over(self, before: ProgramRecord, told: int) -> None:
        """What came of confirming a program stands as it is on record; the search had been told so much."""
        tell_confirmed(self._run, before, told)

    def summarising(self) -> None:
        """A call for an insights report is made: the first one of a round, or one more."""
        if self._round is None:
            self._begin_round(closing=False)
        else:
            self._serve_round()

    def meta_answered(self, event: MetaAnsweredEvent) -> None:
        """An answer for a meta document comes."""
        if self._round is None and event.key.closing is not None:
            self._begin_round(closing=True)
        if self._round is None:
            return
        self._answers.give(event.key, self._tools.record.completion(event))
        self._serve_round()

    def summarised(self, *, closing: bool) -> None:
        """A meta document is done."""
        if self._round is None and closing:
            self._begin_round(closing=True)
        if self._round is None or self._round.work is None:
            return
        self._serve_round(whole=True)
        flow, self._round = self._round, None
        result = self._tools.threads.result(cast("Future[Any]", flow.work))
        try:
            flow.steps.send(result)
        except StopIteration:
            return

    def _serve_round(self, *, whole: bool = False) -> None:
        """Let the round under way write down what comes next on record, or (`whole`) go to its end."""
        assert self._round is not None
        work, tape = self._round.work, self._tools.tape
        event = tape.next
        while work is not None and not work.done() and (whole or tape.next is event):
            next(self._tools.threads.settled((work, self._mailbox.bell)))
            self._mailbox.serve()

    # -- moving ---------------------------------------------------------------------------------------------------

    def _begin_round(self, *, closing: bool) -> None:
        steps = summarising(self._run.summaries, tell=lambda event: None, hurried=lambda: False, closing=closing)
        self._round = Moved(steps=steps)
        self._round.wait = next(steps)
        self._round.work = self._tools.threads.submit(self._round.wait.job)

    def _start(self, number: int, steps: Steps) -> None:
        self._flows[number] = flow = Moved(steps=steps)
        self._advance(number, flow, partial(next, steps))

    def _advance(self, number: int, flow: Moved, go_on: Callable[[], Wait]) -> None:
        """Let a generation take its next step, and begin the work on what it then waits for."""
        flow.work = None
        try:
            flow.wait = go_on()
        except StopIteration:
            del self._flows[number]
            return
        except BaseException:  # boundary: whatever it is, the generator has ended, and others see to the rest
            del self._flows[number]
            raise
        tools, place = self._tools, self._tools.record.verdicts.get(number)
        if flow.wait.phase in _ASKING:
            own = self._offline and flow.wait.phase is WaitPhase.ASKING
            flow.work = tools.threads.submit(flow.wait.job) if own else None
        elif place is not None and place.sitting == self._sitting.number and not self._goes_back(number):
            tools.judge.expect(number)

    def _goes_back(self, number: int) -> bool:
        """Whether what a generation evaluates now was not its last word: its attempt ends on record as refused."""
        attempt = self._tools.archive.reader.attempts(number)[-1].attempt
        return (number, attempt) in self._tools.record.refusals

    def _hand_over(self, number: int) -> None:
        """Give a generation what it waits for."""
        flow = self._flows[number]
        self._advance(number, flow, partial(flow.steps.send, self._result(flow)))

    def _result(self, flow: Moved) -> Any:
        assert flow.wait is not None
        work = self._tools.threads.submit(flow.wait.job) if flow.work is None else flow.work
        return self._tools.threads.result(work)

    # -- what was cut off -----------------------------------------------------------------------------------------

    def _flow(self, number: int) -> Moved | None:
        """A generation under way; one that was cut off is taken up."""
        if any(begun.generation == number for begun in self._cut_off):
            self._taken_up(number)
        return self._flows.get(number)

    def _taken_up(self, number: int) -> None:
        """Take up what was cut off, in order, up to that generation."""
        while self._cut_off:
            begun = self._cut_off.popleft()
            self._resume(begun)
            if begun.generation == number:
                return

    def take_up(self) -> None:
        """Take up what was cut off, in order, as far as there is room, and nothing of it comes later on record."""
        while self._cut_off and len(self._flows) + (self._round is not None) < self._parallel:
            begun, event = self._cut_off[0], self._tools.tape.next
            if begun.answer is None:
                return  # its question says when
            refused = self._tools.record.refusals.get((begun.generation, begun.attempt))
            if refused is not None and (event is None or event.seq != refused):
                return
            self._cut_off.popleft()
            self._resume(begun)

    def _resume(self, begun: Unfinished) -> None:
        event = self._tools.tape.next
        if self._tools.tape.as_recorded and isinstance(event, AskedEvent) and begun.answer is None:
            asked = replace(begun.asked, model=event.model, kind=event.kind, inspirations=event.inspirations)
            begun = replace(begun, asked=asked)
        self._start(begun.generation, generation(self._run, begun.generation, begun))


def require_met(tape: Tape, event: Event) -> None:
    """Raise Parted where nothing led to an event on record."""
    if tape.next is event:
        raise Parted(tape.unexpected(None))
