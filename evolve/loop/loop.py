"""The loop: drives the generations of a run, as many at a time as are admitted, until the session is to end.

One thread owns the archive and takes every decision; an executor does the jobs. What is decided depends only on what is
recorded, so with one proposal in flight a run is a function of its configuration, its seed and the answers. What a
generation does stands in `evolve.loop.generation`, and in `evolve.loop.admission` when it may begin.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from evaluator.errors import EvaluationCancelled, TaskError
from evaluator.untrusted import one_line
from evolve.archive.events import MachineLostEvent
from evolve.archive.ranking import reached_ceiling
from evolve.archive.records import CONFIRMING, Unfinished
from evolve.core.completion import CallFailed
from evolve.evaluation.elsewhere import MachineLost
from evolve.evaluation.evaluators import complete_held_out
from evolve.insights.yields import ModelYields
from evolve.loop.admission import UNREACHABLE_AFTER, Admission, Flow, UnderWay
from evolve.loop.context import RunContext, RunServices
from evolve.loop.executor import BudgetReached, Ended, Executor, Job, JobKind, Steps
from evolve.loop.generation import confirming, generation, summarising
from evolve.loop.workers import record_workers, scoring_again, to_score_again
from evolve.progress import Event, Failed, MachineFailed, Phase, Progress, TaskFailed, Warned, time_left
from evolve.seams import Listener
from evolve.search.stopping import ALARM_AFTER, AT_LIMIT, RecentEnd, SessionEnd, StopReason, alarm, recent_end
from evolve.search.strategies import recall

TICK_S = 0.2
_MOST_AT_ONCE = 100
TASK_ERRORS = 3
"""The run ends after this many evaluations in a row that the task's own code did not survive."""
MACHINES_LOST = 3
"""The run ends after this many evaluations in a row that were lost with the workers of a cluster."""
MOST_SAID = 2000
"""Characters of the reason on record."""


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


class Loop:
    """One session of a run. `run()` goes on until `admission` says that it ends; `admit` makes that."""

    def __init__(
        self,
        services: RunServices,
        executor: Executor,
        listener: Listener,
        admit: Callable[[RunContext, UnderWay], Admission],
    ) -> None:
        self._archive, self._executor, self._listener = services.archive, executor, listener
        self._under_way = UnderWay()
        self._run = RunContext(services, executor, tell=self.tell, draining=self._draining)
        self._admission = admit(self._run, self._under_way)
        self._confirmed: Callable[[], None] | None = None  # records the outcome of a confirmation
        self._to_take = deque[Ended]()  # jobs whose generators have not heard of it yet
        self._jobs = 0
        self._answered = self._archive.reader.answered_since_stop  # in this session, or one before it that was cut off
        self._recent: deque[RecentEnd] = deque(maxlen=ALARM_AFTER)
        self._alarmed: str | None = None
        self._task_errors = 0
        self.task_error: TaskError | None = None
        """The last one for which a generation was left open."""
        self._machines_lost = 0
        self.machine_lost: MachineLost | None = None
        """The same where the workers of a cluster were lost."""
        self._unanswered = False  # a limit was reached, and no model had answered
        self._before = self._archive.reader.ended
        self._yields = ModelYields()
        self._began = executor.now()

    # -- the session --------------------------------------------------------------------------------------------

    def run(self) -> StopReason:
        """Go on until the session ends, everything in flight included. Says why; `ending` says how it ended."""
        try:
            self._under_way.cut_off.extend(restore(self._run))
            return self._go()
        finally:
            left = [*self._to_take, *self._executor.close()]
            for flow in self._under_way.flows.values():
                flow.steps.close()
            self._keep(left)

    def ending(self, limit: StopReason, *, interrupted: bool) -> SessionEnd:
        """What the session came to, now that `limit` made it end and its closing checks are over."""
        best, evaluator = self._archive.reader.best, self._run.evaluators.evaluator
        score = None if best is None else best.combined_score
        return SessionEnd(
            limit=limit,
            interrupted=interrupted,
            at_ceiling=evaluator.ceiling_is_proven and reached_ceiling(score, evaluator.ceiling),
            unanswered=self._unanswered,
            task_failed=self.task_error is not None,
            machine_lost=self.machine_lost is not None,
            holds=best is not None and self._archive.reader.holds(best, CONFIRMING),
        )

    def _go(self) -> StopReason:
        while True:
            self._schedule()
            if (reason := self._admission.ends()) is not None:
                self._let_go(reason)
                if not self._admission.closes(unanswered=self._unanswered):
                    return reason
                self._begin(summarising(self._run, closing=True))
            if self._admission.draining():
                self._run.hurry()
            ended = self._executor.next_ended(TICK_S)
            if ended is None:
                self._run.calls.report_troubles()
                self._listener.tick(self._progress())
            self._to_take.extend(ended or ())
            record_workers(self._run)
            while self._to_take:
                self._fail_before(self._to_take[0])  # it stays there, to be kept if that raises
                self._take(self._to_take.popleft())
                self._begin_report()

    def _keep(self, left: Iterable[Ended | Callable[[], object]]) -> None:
        """Write down the answers that came in the moment in which an exception ended the loop: they are paid for."""
        for one in left:
            if not isinstance(one, Ended):
                one()
            elif one.job.kind is JobKind.ASK and one.raised is None and one.job.generation is not None:
                attempt = self._archive.reader.attempts(one.job.generation)[-1].attempt
                self._archive.answered(one.job.generation, attempt, one.returned)

    def _schedule(self) -> None:
        """Begin as many generations as may be in flight, those that were cut off first, and a report that is due."""
        self._confirm()
        self._score_again()
        cut_off, admission = self._under_way.cut_off, self._admission
        while cut_off and admission.takes_up(cut_off[0]):
            begun = cut_off.popleft()
            self._begin(generation(self._run, begun.generation, begun), number=begun.generation)
        self._begin_report()
        at_once = 0  # those that ended as they began: others have their turn in between
        while at_once < _MOST_AT_ONCE and admission.begins(number := self._archive.reader.next_generation):
            under_way = len(self._under_way.flows)
            self._begin(generation(self._run, number), number=number)
            at_once += len(self._under_way.flows) == under_way
            self._begin_report()

    def _confirm(self) -> None:
        """Begin to confirm the program that leads, one at a time; record its outcome as soon as that may count."""
        if self._confirmed is not None and self._admission.confirmation_counts():
            record, self._confirmed = self._confirmed, None
            record()
        leading, under_way = self._archive.reader.would_lead, self._under_way.count(JobKind.CONFIRM)
        if leading is not None and not under_way and self._confirmed is None and self._admission.confirms(leading):
            self._begin(confirming(self._run))

    def _score_again(self) -> None:
        """Begin to score again what an expelled worker reported."""
        busy = {job.generation for job in self._under_way.flows if job.kind is JobKind.RESCORE}
        for record in to_score_again(self._run):
            if record.generation not in busy and self._admission.scores_again(record):
                self._begin(scoring_again(self._run, record))

    def _begin_report(self) -> None:
        """Begin an insights report at the very event that makes it due, however many events come at once."""
        if self._admission.summarises():
            self._begin(summarising(self._run))

    def _draining(self) -> bool:
        return self._admission.draining()

    # -- driving generators ---------------------------------------------------------------------------------------

    def _begin(self, steps: Steps, *, number: int | None = None) -> None:
        self._advance(Flow(number=number, steps=steps), partial(next, steps))

    def _advance(self, flow: Flow, go_on: Callable[[], Job]) -> None:
        """Let a generator take its next step, and have done what it then waits for."""
        try:
            job = go_on()
        except StopIteration:
            self._ended(flow)
            return
        except BudgetReached:
            self._budget_reached()
            return
        if job.kind is JobKind.ASK and not self._admission.sends():
            flow.steps.close()  # written down as asked, and not sent: the next session asks
            return
        self._jobs += 1
        flow.since, flow.job_number = self._executor.now(), self._jobs
        self._under_way.flows[job] = flow
        self._executor.begin(job)

    def _take(self, ended: Ended) -> None:
        """Send a generator what it waited for, or deal with why it cannot be had."""
        flow, kind = self._under_way.flows.pop(ended.job), ended.job.kind
        try:
            result = ended.result()
        except CallFailed as failed:
            self._without_answer(flow, failed)
        except EvaluationCancelled:
            flow.steps.close()
        except MachineLost as lost:
            flow.steps.close()  # with its answer on record: `resume` evaluates it
            self._machine_lost(flow, lost)
        except TaskError as wrong:
            if kind is JobKind.CONFIRM:
                self._under_way.given_up = ended.job.generation  # a later session tries again
            flow.steps.close()  # with its answer on record: it is evaluated again once the task is repaired
            self._task_wrong(wrong)
        else:
            if kind in self._under_way.took:
                self._under_way.took[kind].append(ended.took_s)
            if kind is JobKind.EVALUATE:
                self._task_errors = self._machines_lost = 0
            go_on = partial(self._advance, flow, partial(flow.steps.send, result))
            if kind is JobKind.CONFIRM:
                self._confirmed = go_on
            else:
                go_on()

    def _without_answer(self, flow: Flow, failed: CallFailed) -> None:
        """No answer can be had. One that the run's end or the budget cut off is asked for again by a later session;
        the others wait until it is known whether the model answers anybody."""
        if failed.reason in ("cancelled", "budget"):
            if failed.reason == "budget":
                self._budget_reached()
            flow.steps.close()
            return
        flow.why, flow.job_number = failed, self._jobs
        self._under_way.held.append(flow)
        assert flow.number is not None  # a report's failures are its summarizer's
        self.tell(Failed(generation=flow.number, reason=failed.reason, message=str(failed)))
        if not self._admission.awaits_others():
            self._release_held(failed=True)
        elif len(self._under_way.held) >= UNREACHABLE_AFTER:
            self._admission.stop(StopReason.UNREACHABLE)

    def _budget_reached(self) -> None:
        if (exhausted := self._run.calls.exhausted) is not None:
            self._admission.stop(exhausted)

    def _fail_before(self, ended: Ended) -> None:
        """Where an answer has come, the generations have failed that had none when it was asked for."""
        if ended.job.kind is JobKind.ASK and ended.raised is None:
            self._answered = True
            self._release_held(failed=True, before=self._under_way.flows[ended.job].job_number)

    def _let_go(self, reason: StopReason) -> None:
        """At the end, generations without an answer have failed if others were answered; else nobody answers."""
        at_limit = reason in (*AT_LIMIT, StopReason.CEILING)
        self._unanswered = self._unanswered or (bool(self._under_way.held) and at_limit and not self._answered)
        self._release_held(failed=at_limit and self._answered)

    def _release_held(self, *, failed: bool, before: int | None = None) -> None:
        """End the generations that got no answer as failed, or (an outage) leave them open for the next session.
        `before`: only those that were without one when that job began; an answer to an older question may have been on
        its way since before the outage, and says nothing."""
        held = self._under_way.held
        released = [flow for flow in held if before is None or flow.job_number < before]
        self._under_way.held = [flow for flow in held if flow not in released]
        for flow in released:
            if failed and flow.why is not None:
                self._advance(flow, partial(flow.steps.throw, flow.why))
            else:
                flow.steps.close()

    def _task_wrong(self, wrong: TaskError) -> None:
        self.task_error = wrong
        self._task_errors += 1
        self.tell(TaskFailed(message=str(wrong)))
        if self._task_errors >= TASK_ERRORS:
            self._admission.stop(StopReason.TASK)

    def _machine_lost(self, flow: Flow, lost: MachineLost) -> None:
        self.machine_lost = lost
        self._machines_lost += 1
        if flow.number is not None:
            attempt = self._archive.reader.attempts(flow.number)[-1].attempt
            why = one_line(str(lost), MOST_SAID)
            self._archive.add(MachineLostEvent(generation=flow.number, attempt=attempt, why=why))
            self.tell(MachineFailed(generation=flow.number, message=str(lost)))
        if self._machines_lost >= MACHINES_LOST:
            self._admission.stop(StopReason.MACHINE)

    def _ended(self, flow: Flow) -> None:
        if flow.number is None:
            return
        self._recent.append(recent_end(self._archive.reader, flow.number))
        warning = alarm(list(self._recent))
        if warning is not None and warning != self._alarmed:
            self.tell(Warned(message=warning))
        self._alarmed = warning

    # -- what is known ------------------------------------------------------------------------------------------

    def _progress(self) -> Progress:
        """Where the run stands now."""
        reader, config, now = self._archive.reader, self._run.config, self._executor.now()
        finished = reader.ended - 1  # the initial program is nobody's proposal
        return Progress(
            finished=finished,
            generations=config.generations,
            in_flight=self._under_way.count(JobKind.ASK, JobKind.TUNE, JobKind.EVALUATE),
            best=reader.best,
            held_out=reader.held_out_of_best,
            ceiling=self._run.evaluators.evaluator.ceiling,
            funnel=reader.funnel,
            phases=tuple(
                Phase(generation=job.generation, name=job.kind, since_s=now - flow.since)
                for job, flow in self._under_way.flows.items()
            ),
            troubles=self._run.calls.troubles.current(),
            spent=reader.spent,
            models=self._yields.of_archive(reader),
            workers=self._run.evaluators.workers(),
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
