"""What may begin, and when a session is to end: by limits, by a person's wish and by what is under way."""

import threading
from collections import deque
from dataclasses import dataclass, field
from statistics import median

from evolve.archive.ranking import reached_ceiling
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.core.completion import CallFailed
from evolve.core.config import Config
from evolve.loop.context import RunContext
from evolve.loop.executor import Executor, Job, JobKind, Steps
from evolve.progress import Stopping
from evolve.search.stopping import AT_LIMIT, Situation, StopReason, stop_reason

_OF_LATE = 25
"""How many of the last answers and evaluations say how long one usually takes."""
GRACE_S = 1.0
"""How long evaluations under way may still take once a limit is reached; what is cut off is evaluated on resume."""
UNREACHABLE_AFTER = 5
"""The run ends after this many generations in a row without an answer, each after its retries."""
_DRAINING = (StopReason.INTERRUPTED, StopReason.MINUTES, StopReason.UNREACHABLE, StopReason.TASK, StopReason.MACHINE)
_UNCONFIRMED = (StopReason.INTERRUPTED, StopReason.TASK)
"""A session that ends so leaves what is being confirmed to the next one."""


@dataclass(slots=True, kw_only=True)
class Flow:
    """A generator under way: a generation's, or (number None) a confirmation's or an insights report's."""

    number: int | None
    steps: Steps
    since: float = 0.0  # when its job began
    job_number: int = 0  # how many jobs of the session had begun by then, or when it was held
    why: CallFailed | None = None  # it has no answer


@dataclass(slots=True, kw_only=True)
class UnderWay:
    """What a session has begun and not ended: the flows by their jobs, the generations without an answer, `held` until
    it is known whether a question that was put later gets one, and those that an earlier session left (`cut_off`) and
    nobody took up yet. `took`: seconds of the last jobs."""

    flows: dict[Job, Flow] = field(default_factory=dict)
    held: list[Flow] = field(default_factory=list)
    cut_off: deque[Unfinished] = field(default_factory=deque)
    took: dict[JobKind, deque[float]] = field(
        default_factory=lambda: {kind: deque(maxlen=_OF_LATE) for kind in (JobKind.ASK, JobKind.EVALUATE)}
    )
    given_up: int | None = None
    """The generation whose program the task's own code could not confirm."""

    def count(self, *kinds: JobKind) -> int:
        """How many jobs of these kinds there are."""
        return sum(job.kind in kinds for job in self.flows)

    @property
    def answers(self) -> int:
        """How many jobs wait for an answer."""
        return self.count(JobKind.ASK, JobKind.SUMMARISE)

    @property
    def summarises(self) -> bool:
        """Whether an insights report is being written."""
        return self.count(JobKind.SUMMARISE) > 0

    def usual_s(self, kind: JobKind) -> float | None:
        """How long a job of a kind took of late."""
        return median(self.took[kind]) if self.took[kind] else None


def most_under_way(*, parallel: int, workers: int, answer_s: float | None, evaluation_s: float | None) -> int:
    """How many generations may be under way at most, those that are asked for and those that are evaluated together.

    As many as there may be requests, at first, and one alone where that is one: a run is repeatable then. Where answers
    take their time, programs are evaluated meanwhile, and others asked for: as many more as the workers get done until
    an answer to one that is asked for now would come (by the usual seconds for an answer and for an evaluation), so
    that none waits for long, and what is asked is asked with what is known; and never more than as many again.
    """
    if parallel == 1 or answer_s is None or not evaluation_s:
        return parallel
    meanwhile = workers * (1 + answer_s / evaluation_s)
    return max(parallel, int(min(parallel + max(parallel, workers), meanwhile)))


class Admission:
    """Decides what the loop may begin, and when it ends. A session may end for a person's wish (`interrupt`), which
    comes first, or one other reason. Asked by the loop's thread, `draining` by others too."""

    def __init__(self, run: RunContext, under_way: UnderWay, *, executor: Executor, interrupt: threading.Event) -> None:
        self._run, self._reader, self._under_way = run, run.archive.reader, under_way
        self._now, self._interrupt = executor.now, interrupt
        self._stopped: StopReason | None = None
        self._deadline: float | None = None
        self._began = self._now()
        self._elsewhere = elsewhere(run.config)

    def draining(self) -> bool:
        """Whether nothing more may be asked, and only the answers under way are waited for."""
        return self._interrupt.is_set() or self._stopped in _DRAINING

    def stop(self, reason: StopReason) -> None:
        """The loop has met a reason to end."""
        self._stopped = self._stopped or reason

    def sends(self) -> bool:
        """Whether a question that is written down is sent, too."""
        return self._reason() in (None, StopReason.GENERATIONS)

    def awaits_others(self) -> bool:
        """Whether a generation without an answer is held until another one has its answer."""
        return True

    def ends(self) -> StopReason | None:
        """Why the session ends now; None while it goes on. Answers on their way may be paid for and are waited for;
        evaluations can be done again. The end waits for a confirmation, which says what the best is."""
        reason = self._stopped = self._reason()
        if reason not in (None, StopReason.GENERATIONS) and self._deadline is None:
            self._deadline = self._now() + (0.0 if reason is StopReason.INTERRUPTED else GRACE_S)
            longest_s = self._run.calls.troubles.gives_up_in_s()
            self._run.tell(Stopping(answers=self._under_way.answers, longest_s=longest_s))
        late = self._deadline is not None and self._now() >= self._deadline
        confirms = self._to_confirm() is not None and self._reason() not in _UNCONFIRMED
        waits = self._under_way.answers or confirms or (self._under_way.flows and not late)
        return None if waits else reason

    def closes(self, *, unanswered: bool) -> bool:
        """Whether an insights report closes the session, that is to end; `unanswered`: no model has answered in it. A
        report that a model writes takes time, and is not asked for where none is left."""
        summaries, reason = self._run.summaries, self._reason()
        asked = summaries.writer.llm is not None
        limits = (*AT_LIMIT, StopReason.CEILING, *(() if asked else (StopReason.MINUTES,)))
        return not self._under_way.cut_off and not unanswered and reason in limits and summaries.closing()

    def takes_up(self, begun: Unfinished) -> bool:
        """Whether a generation that an earlier session left goes on now."""
        return self._has_room(outage=False) and not self.draining()

    def summarises(self) -> bool:
        """Whether an insights report begins now."""
        self._look_at_limits()
        if self._under_way.cut_off or self._awaits_its_turn():
            return False
        goes_on = (None, StopReason.GENERATIONS, StopReason.CEILING)
        return self._run.summaries.due() and self._reason() in goes_on

    def begins(self, number: int) -> bool:
        """Whether a new generation begins now."""
        self._look_at_limits()
        return not self._under_way.cut_off and self._reason() is None and self._has_room()

    def confirms(self, leading: ProgramRecord) -> bool:
        """Whether to confirm the program that leads the candidates for the best now."""
        return leading == self._to_confirm() and self._reason() not in _UNCONFIRMED

    def scores_again(self, record: ProgramRecord) -> bool:
        """Whether to score a program of an expelled worker again now. What is not done is left to the next session."""
        return self._reason() in (None, StopReason.GENERATIONS, StopReason.PATIENCE)

    def confirmation_counts(self) -> bool:
        """Whether the result of a confirmation is to be recorded now."""
        return self._run.config.parallel > 1 or self._awaits_its_turn()

    # -- why it ends ----------------------------------------------------------------------------------------------

    def _reason(self) -> StopReason | None:
        if self._stopped is StopReason.PATIENCE and self._limit() is not StopReason.PATIENCE:
            self._stopped = self._deadline = None  # what was under way brought a better program
        return StopReason.INTERRUPTED if self._interrupt.is_set() else self._stopped

    def _look_at_limits(self) -> None:
        if self._reason() is None:
            reached = self._limit()
            if reached is StopReason.MINUTES or not self._under_way.cut_off:
                self._stopped = reached

    def _limit(self) -> StopReason | None:
        reader, config, evaluator = self._reader, self._run.config, self._run.evaluators.evaluator
        situation = Situation(
            begun=reader.next_generation - 1,
            since_best=0 if reader.would_lead is not None else reader.ended_since_best,
            best_score=None if reader.best is None else reader.best.combined_score,
            ceiling=evaluator.ceiling,
            ceiling_is_proven=evaluator.ceiling_is_proven,
            elapsed_s=self._now() - self._began,
        )
        return stop_reason(situation, generations=config.generations, minutes=config.minutes, patience=config.patience)

    # -- what has to wait -----------------------------------------------------------------------------------------

    def _to_confirm(self) -> ProgramRecord | None:
        """The program that is to be confirmed, unless the task's own code failed in that."""
        leading = self._reader.would_lead
        return None if leading is None or leading.generation == self._under_way.given_up else leading

    def _others(self) -> int:
        """How many jobs there are, a confirmation not counted."""
        return len(self._under_way.flows) - self._under_way.count(JobKind.CONFIRM)

    def _awaits_its_turn(self) -> bool:
        """With one in flight, whether what comes of a confirmation counts now, so that nothing begins before: once
        another generation has ended since that was due, however long it takes, or at once where none will begin. So
        the run is the same however long a confirmation takes. A generation that was cut off had begun before, and goes
        on first."""
        if self._run.config.parallel > 1 or self._to_confirm() is None or self._others():
            return False
        if self._under_way.cut_off and not self.draining() and not self._may_be_solved():
            return False
        stops = self._reason() not in (None, *_UNCONFIRMED) or self._limit() is not None
        none_begins = stops and (not self._under_way.cut_off or self.draining())
        return self._reader.ended > self._reader.ended_at_lead or self._may_be_solved() or none_begins

    def _may_be_solved(self) -> bool:
        """Whether nothing is left to do if a program holds that is to be confirmed."""
        evaluator = self._run.evaluators.evaluator
        if not evaluator.ceiling_is_proven or self._to_confirm() is None:
            return False
        return any(reached_ceiling(one.combined_score, evaluator.ceiling) for one in self._reader.candidates)

    def _has_room(self, *, outage: bool = True) -> bool:
        """Whether one more may begin: whether one more may be asked for, and (see `most_under_way`) evaluated. Those
        that got no answer keep their places, so that an outage leaves no more open than may be in flight; but it takes
        UNREACHABLE_AFTER of them to tell an outage, however few those are. Those that wait for their endpoint keep
        none, as far as others may be asked for elsewhere."""
        if self._may_be_solved() or self._awaits_its_turn():
            return False
        config, under_way = self._run.config, self._under_way
        if config.parallel == 1:
            return not self._others() and (not outage or len(under_way.held) < UNREACHABLE_AFTER)
        held_back = min(self._elsewhere, self._run.calls.held_back)
        asking = under_way.count(JobKind.ASK) - held_back
        most_open = max(config.parallel, UNREACHABLE_AFTER)
        if asking >= config.parallel or (outage and asking + len(under_way.held) >= most_open):
            return False
        most = most_under_way(
            parallel=config.parallel,
            workers=self._run.evaluators.room(config.processes),
            evaluation_s=under_way.usual_s(JobKind.EVALUATE),
            answer_s=under_way.usual_s(JobKind.ASK) if config.models else None,
        )
        return under_way.count(JobKind.ASK, JobKind.TUNE, JobKind.EVALUATE) - held_back < most


def elsewhere(config: Config) -> int:
    """How many more may be asked for while others wait for an endpoint that takes no more for now."""
    endpoints = {(model.base_url, model.api_key_env) for model in config.models if model.weight}
    return config.parallel if len(endpoints) > 1 else 0
