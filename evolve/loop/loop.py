"""The loop: drives the generations of a run, as many at a time as are allowed, until a limit is reached.

One thread owns the archive and takes every decision; asking, evaluating and summarising happen in worker threads. What
is decided depends only on what is recorded, so with one proposal in flight a run is a function of its configuration,
its seed and the answers. What a generation does stands in `evolve.loop.generation`; here stands when it may begin, and
what happens when the run is to end.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from evaluator.errors import EvaluationCancelled, TaskError
from evolve.archive.archive import Archive
from evolve.archive.ranking import reached_ceiling
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.completion import CallFailed
from evolve.config import Config
from evolve.evidence.yields import ModelYields
from evolve.judging.evaluators import EvaluatorPair, complete_held_out
from evolve.loop.calls import Calls
from evolve.loop.generation import RunContext, confirming, generation
from evolve.loop.mailbox import Mailbox
from evolve.loop.steps import BudgetReached, Steps, Wait, WaitPhase
from evolve.loop.summaries import Summaries, summarising
from evolve.opening import Models
from evolve.progress import Event, Failed, Phase, Progress, Stopping, TaskFailed, Warned, time_left
from evolve.propose.requests import Requests
from evolve.seams import Listener, Search
from evolve.search.stopping import (
    ALARM_AFTER,
    AT_LIMIT,
    RecentEnd,
    SessionEnd,
    Situation,
    StopReason,
    alarm,
    stop_reason,
)
from evolve.search.strategies import recall
from evolve.tuning.tuner import tuner_of


def most_under_way(*, parallel: int, workers: int, answer_s: float | None, evaluation_s: float | None) -> int:
    """How many generations may be under way at most, those that are asked for and those that are judged together.

    As many as there may be requests, at first, and one alone where that is one: a run is repeatable then. Where answers
    take their time, programs are judged meanwhile, and others asked for: as many more as the workers get done until an
    answer to one that is asked for now would come (by the usual seconds for an answer and for an evaluation), so that
    none waits for long, and what is asked is asked with what is known; and never more than as many again.
    """
    if parallel == 1 or answer_s is None or not evaluation_s:
        return parallel
    judged_meanwhile = workers * (1 + answer_s / evaluation_s)
    return max(parallel, int(min(parallel + max(parallel, workers), judged_meanwhile)))


def restore(run: RunContext) -> list[Unfinished]:
    """Take up what the archive holds, and complete what a kill has cut off. The generations without an end, lowest
    first."""
    archive = run.archive
    complete_held_out(archive, run.evaluators)
    recall(run.search, archive.reader.history())
    run.summaries.restore()
    for orphan in archive.reader.orphans():
        if archive.reader.calls(orphan.key):  # else it was never sent
            archive.lost(orphan.generation, orphan.attempt)
    return archive.reader.unfinished()


TICK_S = 0.2
_MOST_AT_ONCE = 100
_OF_LATE = 25
"""By so many answers and evaluations, the last ones, it is told how long one usually takes."""
GRACE_S = 1.0
"""How long evaluations under way may still take once a limit is reached; what is cut off is judged on resume."""
UNREACHABLE_AFTER = 5
"""So many generations in a row without an answer, each after its retries, and the run ends."""
TASK_ERRORS = 3
"""So many evaluations in a row that the task's own code did not survive, and the run ends."""
_UNCONFIRMED = (StopReason.INTERRUPTED, StopReason.TASK)
"""A session that ends so leaves what is being confirmed to the next one."""


@dataclass(slots=True, kw_only=True)
class _Flow:
    """A generator under way: a generation's, or (number None) a confirmation's or a meta document's."""

    number: int | None
    steps: Steps
    phase: WaitPhase | None = None
    since: float = 0.0
    job: int = 0  # how many jobs of the session had begun when it was last given one
    began: float = 0.0  # when a worker took the job up
    about: int | None = None  # the generation that is shown to people


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A generation without an answer, until it is known whether a question that was put later gets one."""

    flow: _Flow
    why: CallFailed
    since_job: int


def _timed(flow: _Flow, job: Callable[[], Any]) -> Any:
    flow.began = time.monotonic()
    return job()


class Stops:
    """Why a session is to end. Read from worker threads, too."""

    def __init__(self, interrupt: threading.Event) -> None:
        self._interrupt = interrupt
        self.reason: StopReason | None = None

    def now(self) -> StopReason | None:
        """The reason, as soon as there is one; a person's wish comes first."""
        return StopReason.INTERRUPTED if self._interrupt.is_set() else self.reason

    def hurried(self) -> bool:
        """Whether nothing more may be asked, and only the answers under way are waited for."""
        return self.now() in (StopReason.INTERRUPTED, StopReason.MINUTES, StopReason.UNREACHABLE, StopReason.TASK)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunServices:
    """What a session of a run works with."""

    archive: Archive
    config: Config
    evaluators: EvaluatorPair
    models: Models
    search: Search


class Loop:
    """One session of a run. `run()` goes on until a limit is reached or a person ends it."""

    def __init__(self, services: RunServices, listener: Listener, interrupt: threading.Event) -> None:
        archive, config, models = services.archive, services.config, services.models
        self._archive = archive
        self._listener = listener
        self._stops = Stops(interrupt)
        self._mailbox = Mailbox()
        hurried = self._stops.hurried
        calls = Calls(archive, self._mailbox, config=config, usual=models.usual, hurried=hurried, tell=self.tell)
        self._run = RunContext(
            archive=archive,
            config=config,
            search=services.search,
            proposers=models.proposers,
            tuner=tuner_of(config, archive.reader, services.evaluators),
            evaluators=services.evaluators,
            requests=Requests(archive.reader, seed=config.seed, elites=config.search.elites),
            summaries=Summaries(archive, models.writer, config=config, mailbox=self._mailbox, calls=calls),
            calls=calls,
            tell=self.tell,
        )
        self._waiting: dict[Future[Any], _Flow] = {}
        self._confirming = False
        self._given_up: int | None = None  # the generation whose program the task's own code could not confirm
        self._confirmed: Callable[[], None] | None = None  # records what came of a confirmation
        self._cut_off: deque[Unfinished] = deque()  # by an earlier session, and not taken up yet
        self._jobs = 0
        self._took = {phase: deque[float](maxlen=_OF_LATE) for phase in (WaitPhase.ASKING, WaitPhase.EVALUATING)}
        endpoints = {(model.base_url, model.api_key_env) for model in config.models if model.weight}
        self._elsewhere = config.parallel if len(endpoints) > 1 else 0
        """So many more may be asked for while others wait for an endpoint that takes no more for now."""
        self._held: list[_Held] = []
        self._answered = archive.reader.answered_since_stop  # in this session, or one before it that was cut off
        self._recent: deque[RecentEnd] = deque(maxlen=ALARM_AFTER)
        self._alarmed: str | None = None
        self._task_errors = 0
        self.task_error: TaskError | None = None
        """The last one for which a generation was left open."""
        self._silence = False  # a limit was reached, and no model had answered
        self._next = archive.reader.next_generation
        self._before = archive.reader.ended
        self._yields = ModelYields()
        self._began = time.monotonic()

    # -- the session --------------------------------------------------------------------------------------------

    def run(self) -> StopReason:
        """Go on until a limit is reached, everything in flight included. Says which; `ending` says what came of it."""
        self._cut_off.extend(restore(self._run))
        config = self._run.config
        self._asks = ThreadPoolExecutor(config.parallel + self._elsewhere + 1, thread_name_prefix="ask")
        self._evaluations = ThreadPoolExecutor(config.workers, thread_name_prefix="evaluate")
        try:
            return self._go()
        finally:
            self._mailbox.close()
            self._run.evaluators.cancel()
            for flow in self._waiting.values():
                flow.steps.close()
            self._asks.shutdown(wait=False, cancel_futures=True)
            self._evaluations.shutdown(wait=False, cancel_futures=True)

    def ending(self, limit: StopReason, *, interrupted: bool) -> SessionEnd:
        """What the session came to, now that `limit` made it end and its closing checks are over."""
        return SessionEnd(
            limit=limit,
            interrupted=interrupted,
            at_ceiling=self._limit_reached() is StopReason.CEILING,
            unanswered=self._silence,
            task_failed=self.task_error is not None,
            fresh=self._archive.reader.fresh_of_best,
        )

    def _go(self) -> StopReason:
        deadline: float | None = None
        while True:
            if self._stops.reason is StopReason.PATIENCE and self._limit_reached() is not StopReason.PATIENCE:
                self._stops.reason, deadline = None, None  # what was under way brought a better program
            self._begin_what_may()
            reason = self._stops.reason = self._stops.now()
            if reason not in (None, StopReason.GENERATIONS) and deadline is None:
                deadline = time.monotonic() + (0.0 if reason is StopReason.INTERRUPTED else GRACE_S)
                self.tell(Stopping(answers=self._answers_awaited()))
            # Answers on their way may be paid for and are waited for; evaluations can be done again.
            late = deadline is not None and time.monotonic() >= deadline
            # The end waits for a confirmation, which says what the best is.
            confirms = self._to_confirm is not None and self._stops.now() not in _UNCONFIRMED
            awaited = self._answers_awaited() or confirms
            if reason is not None and not awaited and (late or not self._waiting):
                self._let_go(reason)
                if not self._closes(reason):
                    return reason
            done, _ = wait([*self._waiting, self._mailbox.bell], timeout=TICK_S, return_when=FIRST_COMPLETED)
            self._mailbox.serve()
            for future in [future for future in self._waiting if future in done]:  # in the order in which they began
                self._take(self._waiting.pop(future), future)
            if not done:
                self._listener.tick(self._progress())

    def _begin_what_may(self) -> None:
        """Begin as many generations as may be in flight, those that were cut off first, and a document that is due."""
        self._confirm()
        while self._cut_off and self._has_room(outage=False) and not self._stops.hurried():
            begun = self._cut_off.popleft()
            self._begin_generation(begun.generation, begun)
        if self._stops.now() is None:
            reached = self._limit_reached()
            if reached is StopReason.MINUTES or not self._cut_off:
                self._stops.reason = reached
        if self._cut_off or self._awaits_its_turn():
            return
        if self._run.summaries.due() and self._stops.now() in (None, StopReason.GENERATIONS, StopReason.CEILING):
            self._begin(summarising(self._run.summaries, tell=self.tell, hurried=self._stops.hurried))
        at_once = 0  # those that ended as they began: others have their turn in between
        while self._stops.now() is None and self._has_room() and at_once < _MOST_AT_ONCE:
            number, under_way = self._next, len(self._waiting)
            self._begin_generation(number)
            at_once += len(self._waiting) == under_way
            if self._stops.now() is None:  # else the budget refused it, and nothing of it is on record
                self._next = max(self._next, number + 1)
                self._stops.reason = self._limit_reached()

    # -- the program that is to be the best -------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Begin to confirm the program that leads, one at a time; record what came of it as soon as that may count."""
        if self._confirmed is not None and (self._run.config.parallel > 1 or self._awaits_its_turn()):
            record, self._confirmed, self._confirming = self._confirmed, None, False
            record()
        leading = self._to_confirm
        if leading is not None and not self._confirming and self._stops.now() not in _UNCONFIRMED:
            self._confirming = True
            self._begin(confirming(self._run), about=leading.generation)

    @property
    def _to_confirm(self) -> ProgramRecord | None:
        """The program that is to be confirmed now, unless the task's own code failed in that."""
        leading = self._archive.reader.would_lead
        return None if leading is None or leading.generation == self._given_up else leading

    def _awaits_its_turn(self) -> bool:
        """With one in flight, whether what comes of a confirmation counts now, so that nothing begins before: once
        another generation has ended since that was due, however long it takes, or at once where none will begin. So
        the run is the same however long a confirmation takes."""
        reader = self._archive.reader
        if self._run.config.parallel > 1 or self._to_confirm is None or self._under_way():
            return False
        stops = self._stops.now() not in (None, *_UNCONFIRMED) or self._limit_reached() is not None
        none_begins = stops and (not self._cut_off or self._stops.hurried())
        return reader.ended_since_lead > 0 or self._may_be_solved() or none_begins

    def _may_be_solved(self) -> bool:
        """Whether nothing is left to do if a program holds that is to be confirmed."""
        evaluator = self._run.evaluators.evaluator
        if not evaluator.ceiling_is_proven or self._to_confirm is None:
            return False
        return any(reached_ceiling(one.combined_score, evaluator.ceiling) for one in self._archive.reader.candidates)

    def _under_way(self) -> list[_Flow]:
        """What has begun and not ended, but for a confirmation."""
        return [flow for flow in self._waiting.values() if flow.phase is not WaitPhase.CONFIRMING]

    # -- when what may begin ----------------------------------------------------------------------------------------

    def _closes(self, reason: StopReason) -> bool:
        """Begin the document that closes a session at one of its limits, if programs came since the last one. One that
        a model writes takes time, and is not asked for where there is none left."""
        summaries = self._run.summaries
        asked = summaries.writer.llm is not None
        limits = (*AT_LIMIT, StopReason.CEILING, *(() if asked else (StopReason.MINUTES,)))
        if self._cut_off or self._silence or reason not in limits or not summaries.closing():
            return False
        self._begin(summarising(summaries, tell=self.tell, hurried=self._stops.hurried, closing=True))
        return True

    def _has_room(self, *, outage: bool = True) -> bool:
        """Whether one more may begin: whether one more may be asked for, and (see `most_under_way`) judged. Those that
        got no answer keep their places, so that an outage leaves no more open than may be in flight; but it takes so
        many of them to tell an outage, however few those are. Those that wait for their endpoint keep none, as far as
        others may be asked for elsewhere."""
        parallel, flows = self._run.config.parallel, self._under_way()
        if self._may_be_solved() or self._awaits_its_turn():
            return False
        if parallel == 1:
            return not flows and (not outage or len(self._held) < UNREACHABLE_AFTER)
        held_back = min(self._elsewhere, self._run.calls.held_back)
        asking = sum(flow.phase is WaitPhase.ASKING for flow in flows) - held_back
        if asking >= parallel or (outage and asking + len(self._held) >= max(parallel, UNREACHABLE_AFTER)):
            return False
        usual = {phase: median(took) if took else None for phase, took in self._took.items()}
        most = most_under_way(
            parallel=parallel,
            workers=self._run.config.workers,
            evaluation_s=usual[WaitPhase.EVALUATING],
            answer_s=usual[WaitPhase.ASKING] if self._run.config.models else None,
        )
        return sum(flow.number is not None for flow in flows) - held_back < most

    def _limit_reached(self) -> StopReason | None:
        best, config, evaluator = self._archive.reader.best, self._run.config, self._run.evaluators.evaluator
        now = Situation(
            begun=self._next - 1,
            since_best=0 if self._archive.reader.would_lead is not None else self._archive.reader.ended_since_best,
            best_score=None if best is None else best.combined_score,
            ceiling=evaluator.ceiling,
            ceiling_is_proven=evaluator.ceiling_is_proven,
            elapsed_s=time.monotonic() - self._began,
        )
        return stop_reason(now, generations=config.generations, minutes=config.minutes, patience=config.patience)

    # -- driving generators ---------------------------------------------------------------------------------------

    def _begin_generation(self, number: int, begun: Unfinished | None = None) -> None:
        self._begin(generation(self._run, number, begun), number=number, about=number)

    def _begin(self, steps: Steps, *, number: int | None = None, about: int | None = None) -> None:
        flow = _Flow(number=number, steps=steps, about=about)
        self._advance(flow, partial(next, steps))

    def _advance(self, flow: _Flow, go_on: Callable[[], Wait]) -> None:
        """Let a generator take its next step, and have done what it then waits for."""
        try:
            waited = go_on()
        except StopIteration:
            self._ended(flow)
            return
        except BudgetReached:
            self._budget_reached()
            return
        if waited.phase is WaitPhase.ASKING and self._stops.now() not in (None, StopReason.GENERATIONS):
            flow.steps.close()  # written down as asked, and not sent: the next session asks
            return
        self._jobs += 1
        flow.phase, flow.since, flow.job = waited.phase, time.monotonic(), self._jobs
        pool = self._asks if waited.phase in (WaitPhase.ASKING, WaitPhase.SUMMARISING) else self._evaluations
        self._waiting[pool.submit(_timed, flow, waited.job)] = flow

    def _take(self, flow: _Flow, future: Future[Any]) -> None:
        """Send a generator what it waited for, or deal with why it cannot be had."""
        try:
            result = future.result()
        except CallFailed as failed:
            self._unanswered(flow, failed)
        except EvaluationCancelled:
            flow.steps.close()
        except TaskError as wrong:
            if flow.phase is WaitPhase.CONFIRMING:
                self._confirming, self._given_up = False, flow.about  # a later session tries again
            flow.steps.close()  # with its answer on record: it is evaluated again once the task is mended
            self._task_wrong(wrong)
        else:
            if flow.phase in self._took:
                self._took[flow.phase].append(time.monotonic() - flow.began)
            if flow.phase is WaitPhase.ASKING:
                self._answered = True
                self._release_held(failed=True, before=flow.job)
            elif flow.phase is WaitPhase.EVALUATING:
                self._task_errors = 0
            go_on = partial(self._advance, flow, partial(flow.steps.send, result))
            if flow.phase is WaitPhase.CONFIRMING:
                self._confirmed = go_on
            else:
                go_on()

    def _unanswered(self, flow: _Flow, failed: CallFailed) -> None:
        """No answer can be had. One that the run's end or the budget cut off is asked for again by a later session;
        the others wait until it is known whether the model answers anybody."""
        if failed.reason in ("cancelled", "budget"):
            if failed.reason == "budget":
                self._budget_reached()
            flow.steps.close()
            return
        self._held.append(_Held(flow=flow, why=failed, since_job=self._jobs))
        assert flow.number is not None  # a document's failures are its summarizer's
        self.tell(Failed(generation=flow.number, reason=failed.reason, message=str(failed)))
        if len(self._held) >= UNREACHABLE_AFTER:
            self._stops.reason = self._stops.reason or StopReason.UNREACHABLE

    def _budget_reached(self) -> None:
        self._stops.reason = self._stops.reason or self._run.calls.exhausted

    def _let_go(self, reason: StopReason) -> None:
        """At the end, generations without an answer have failed if others were answered; else nobody answers."""
        at_limit = reason in (*AT_LIMIT, StopReason.CEILING)
        self._silence = self._silence or (bool(self._held) and at_limit and not self._answered)
        self._release_held(failed=at_limit and self._answered)

    def _release_held(self, *, failed: bool, before: int | None = None) -> None:
        """End the generations that got no answer as failed, or (an outage) leave them open for the next session.
        `before`: only those that were without one when that job began; an answer to an older question may have been on
        its way since before the outage, and says nothing."""
        released = [held for held in self._held if before is None or held.since_job < before]
        self._held = [held for held in self._held if held not in released]
        for held in released:
            if failed:
                self._advance(held.flow, partial(held.flow.steps.throw, held.why))
            else:
                held.flow.steps.close()

    def _task_wrong(self, wrong: TaskError) -> None:
        self.task_error = wrong
        self._task_errors += 1
        self.tell(TaskFailed(message=str(wrong)))
        if self._task_errors >= TASK_ERRORS:
            self._stops.reason = self._stops.reason or StopReason.TASK

    def _ended(self, flow: _Flow) -> None:
        if flow.number is None:
            return
        program, attempts = self._archive.reader.program(flow.number), self._archive.reader.attempts(flow.number)
        self._recent.append(
            RecentEnd(
                fault=self._archive.reader.fault(flow.number),
                score=None if program is None else program.combined_score,
                nothing=attempts[-1].message if attempts[-1].reason == "nothing" else None,
            )
        )
        warning = alarm(list(self._recent))
        if warning is not None and warning != self._alarmed:
            self.tell(Warned(message=warning))
        self._alarmed = warning

    # -- what is known ------------------------------------------------------------------------------------------

    def _answers_awaited(self) -> int:
        return sum(flow.phase in (WaitPhase.ASKING, WaitPhase.SUMMARISING) for flow in self._waiting.values())

    def _progress(self) -> Progress:
        """Where the run stands now."""
        reader, config, flows, now = self._archive.reader, self._run.config, self._waiting.values(), time.monotonic()
        finished = reader.ended - 1  # the initial program is nobody's proposal
        return Progress(
            finished=finished,
            generations=config.generations,
            in_flight=sum(flow.phase not in (WaitPhase.CONFIRMING, WaitPhase.SUMMARISING) for flow in flows),
            best=reader.best,
            held_out=reader.held_out_of_best,
            ceiling=self._run.evaluators.evaluator.ceiling,
            funnel=reader.funnel,
            phases=tuple(Phase(generation=f.about, name=str(f.phase), since_s=now - f.since) for f in flows),
            spent=reader.spent,
            models=self._yields.upto(reader),
            elapsed_s=now - self._began,
            time_left_s=time_left(
                finished=finished,
                generations=config.generations,
                minutes=config.minutes,
                session_finished=reader.ended - self._before,
                elapsed_s=now - self._began,
            ),
        )

    def tell(self, event: Event) -> None:
        """Tell the listener what happened, and where the run stands."""
        self._listener.tell(event, self._progress())
