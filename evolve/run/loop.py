"""The loop: choose -> ask -> write the answer down -> apply -> evaluate -> record.

One thread owns the archive and takes every decision; asking and evaluating happen in worker threads, several at a
time. What is decided depends only on what is recorded, so with one proposal in flight a run is a function of its
configuration, its seed and the answers.
"""

import random
import threading
import time
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.evaluator import Evaluator
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord, Status
from evolve.config import Config
from evolve.errors import PatchError
from evolve.patch_format import format_patch
from evolve.program import Origin, PatchKind
from evolve.propose.llm import CallEvent
from evolve.propose.proposal import Answer, Candidate, Proposer, Refusal, Request
from evolve.run.candidate import Duplicate, NewProgram, build_program
from evolve.run.progress import Evaluated, Event, Listener, Progress, Refused, Tally, Warned, time_left
from evolve.search.select import Choice, admit, choose
from evolve.search.stopping import ALARM_AFTER, Ended, Standing, StopReason, alarm, stop_reason

TICK_S = 0.2
GRACE_S = 3.0
"""How long evaluations under way may still take once a run is to end early; what is cut off is judged on resume."""


@dataclass(slots=True)
class _Flight:
    """One generation under way."""

    generation: int
    attempt: int
    choice: Choice
    refusals: list[Refusal] = field(default_factory=list)
    program: NewProgram | None = None  # set once an answer became a program


class Loop:
    """One session of a run. `run()` goes on until a limit is reached or `interrupt` is set."""

    def __init__(
        self,
        *,
        archive: Archive,
        evaluator: Evaluator,
        proposer: Proposer,
        config: Config,
        listener: Listener,
        interrupt: threading.Event,
    ) -> None:
        self._archive = archive
        self._evaluator = evaluator
        self._proposer = proposer
        self._config = config
        self._listener = listener
        self._interrupt = interrupt
        weights = config.search.kinds
        self._kinds = {
            kind: weight
            for kind, weight in ((PatchKind.DIFF, weights.diff), (PatchKind.CROSS, weights.cross))
            if kind in proposer.kinds
        }
        self._elites: tuple[ProgramRecord, ...] = ()
        self._offspring: Counter[str] = Counter()
        self._tally = Tally()
        self._recent: deque[Ended] = deque(maxlen=ALARM_AFTER)
        self._alarmed: str | None = None
        self._asking: dict[Future[Answer], _Flight] = {}
        self._evaluating: dict[Future[Evaluation], _Flight] = {}
        self._unfinished: deque[_Flight] = deque()
        self._ending: StopReason | None = None
        self._candidate = lru_cache(maxsize=2 * config.search.elites)(self._load_candidate)
        self._began = time.monotonic()
        self._next = 1
        self._finished = 0
        self._finished_before = 0

    # -- the session --------------------------------------------------------------------------------------------

    def run(self) -> StopReason:
        """Go on until a limit is reached, everything in flight included. Says why it ended, in the record too."""
        self._restore()
        asking = ThreadPoolExecutor(self._config.parallel, thread_name_prefix="ask")
        evaluating = ThreadPoolExecutor(self._config.workers, thread_name_prefix="evaluate")
        try:
            reason = self._go(asking, evaluating)
            self._archive.stopped(reason.value)
            return reason
        finally:
            asking.shutdown(wait=False, cancel_futures=True)
            evaluating.shutdown(wait=False, cancel_futures=True)

    def _go(self, asking: ThreadPoolExecutor, evaluating: ThreadPoolExecutor) -> StopReason:
        deadline = float("inf")
        while True:
            self._ending = self._stop_reason()
            while self._ending is None and self._in_flight() < self._config.parallel:
                self._begin(asking, evaluating)
                self._ending = self._stop_reason()
            if self._ends_early() and deadline == float("inf"):
                deadline = time.monotonic() + GRACE_S
            # Answers on their way may be paid for and are waited for; evaluations can be done again.
            if self._ending and not self._asking and (not self._evaluating or time.monotonic() > deadline):
                return self._ending
            futures: list[Future[Any]] = [*self._asking, *self._evaluating]
            done, _ = wait(futures, timeout=TICK_S, return_when=FIRST_COMPLETED)
            for future in done:
                if future in self._asking:
                    self._take_answer(self._asking.pop(future), future.result(), evaluating, asking)
                else:
                    self._take_evaluation(self._evaluating.pop(future), future.result())
            if not done:
                self._listener.tick(self.progress())

    def _in_flight(self) -> int:
        return len(self._asking) + len(self._evaluating)

    def _ends_early(self) -> bool:
        """Whether the session ends without waiting for all that is under way (which resume then takes up)."""
        return self._ending not in (None, StopReason.GENERATIONS)

    def _stop_reason(self) -> StopReason | None:
        if self._interrupt.is_set():
            return StopReason.INTERRUPTED
        if self._ending is not None or self._unfinished:
            return self._ending
        best = self._archive.best
        standing = Standing(
            proposed=self._next - 1,
            best_score=None if best is None else best.combined_score,
            best_generation=0 if best is None else best.generation,
            ceiling=self._evaluator.ceiling,
            ceiling_is_proven=self._evaluator.ceiling_is_proven,
            elapsed_s=time.monotonic() - self._began,
        )
        config = self._config
        return stop_reason(standing, generations=config.generations, minutes=config.minutes, patience=config.patience)

    # -- one generation's way -----------------------------------------------------------------------------------

    def _begin(self, asking: ThreadPoolExecutor, evaluating: ThreadPoolExecutor) -> None:
        if self._unfinished:
            flight = self._unfinished.popleft()
            if flight.program is not None:
                self._evaluating[evaluating.submit(self._evaluator.evaluate, flight.program.source)] = flight
                return
        else:
            choice = choose(
                self._elites,
                self._archive.programs[0],
                self._offspring,
                kinds=self._kinds,
                inspirations=self._config.search.inspirations,
                rng=random.Random(f"{self._config.seed}:{self._next}:choose"),
            )
            flight = _Flight(generation=self._next, attempt=0, choice=choice)
            self._next += 1
        self._ask(flight, asking)

    def _ask(self, flight: _Flight, asking: ThreadPoolExecutor) -> None:
        choice = flight.choice
        request = Request(
            seed=self._config.seed,
            generation=flight.generation,
            attempt=flight.attempt,
            kind=choice.kind,
            parent=self._candidate(choice.parent.commit),
            inspirations=tuple(self._candidate(record.commit) for record in choice.inspirations),
            refusals=tuple(flight.refusals),
        )
        prompt = self._proposer.prompt(request)
        self._archive.asked(
            flight.generation,
            flight.attempt,
            kind=choice.kind.value,
            island=choice.island,
            parents=[choice.parent.commit],
            inspirations=[record.commit for record in choice.inspirations],
            model=self._proposer.name,
            prompt=prompt,
        )
        self._asking[asking.submit(self._proposer.answer, request, prompt, self._observe)] = flight

    def _observe(self, event: CallEvent) -> None:
        pass

    def _take_answer(
        self, flight: _Flight, answer: Answer, evaluating: ThreadPoolExecutor, asking: ThreadPoolExecutor
    ) -> None:
        self._archive.answered(
            flight.generation,
            flight.attempt,
            text=answer.text,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            cost_usd=answer.cost_usd,
            latency_s=answer.latency_s,
        )
        if self._judge(flight, answer.text):
            assert flight.program is not None
            self._evaluating[evaluating.submit(self._evaluator.evaluate, flight.program.source)] = flight
        elif flight.refusals and not self._ends_early():
            self._ask(flight, asking)

    def _judge(self, flight: _Flight, answer: str) -> bool:
        """Make a program of an answer. False: it was refused, and recorded so; the flight goes on if it may."""
        self._tally.answered += 1
        parent = self._candidate(flight.choice.parent.commit)
        try:
            flight.program = build_program(
                answer, kind=flight.choice.kind, parent_source=parent.program.source, known=self._known
            )
        except PatchError as refused:
            final = flight.attempt + 1 >= self._config.attempts
            duplicate_of = refused.generation if isinstance(refused, Duplicate) else None
            self._tally.applied += duplicate_of is not None
            self._archive.refused(
                flight.generation,
                flight.attempt,
                reason=refused.reason,
                message=str(refused),
                final=final,
                status=Status.REFUSED if duplicate_of is None else Status.DUPLICATE,
                duplicate_of=duplicate_of,
            )
            flight.refusals.append(Refusal(answer=answer, message=str(refused)))
            flight.attempt += 1
            if final:
                flight.refusals.clear()
                self._end(flight, Ended(fault=refused.reason, score=None))
            self._tell(Refused(generation=flight.generation, reason=refused.reason, message=str(refused), final=final))
            return False
        self._tally.applied += 1
        self._tally.new += 1
        return True

    def _known(self, source_hash: str) -> int | None:
        recorded = self._archive.seen(source_hash)
        if recorded is not None:
            return recorded.generation
        for flight in (*self._evaluating.values(), *self._unfinished):
            if flight.program is not None and flight.program.source_hash == source_hash:
                return flight.generation
        return None

    def _take_evaluation(self, flight: _Flight, evaluation: Evaluation) -> None:
        program = flight.program
        assert program is not None
        choice = flight.choice
        before = self._archive.best
        record = self._archive.evaluated(
            flight.generation,
            flight.attempt,
            source=program.source,
            patch_text=format_patch(program.patch),
            origin=Origin(
                kind=choice.kind,
                model=self._proposer.name,
                patch_name=program.patch.name,
                description=program.patch.description,
            ),
            parents=[choice.parent.commit],
            inspirations=[inspiration.commit for inspiration in choice.inspirations],
            island=choice.island,
            source_hash=program.source_hash,
            evaluation=evaluation,
        )
        self._elites = admit(self._elites, record, size=self._config.search.elites)
        parent_score = choice.parent.combined_score
        self._tally.valid += record.correct
        self._tally.improved += record.correct and record.combined_score > parent_score
        fault = None if record.correct else f"{evaluation.outcome.value}: {evaluation.detail[:200]}"
        self._end(flight, Ended(fault=fault, score=record.combined_score))
        best = self._archive.best
        self._tell(
            Evaluated(
                record=record,
                detail=evaluation.detail,
                parent_score=parent_score,
                is_best=best is not None and best.commit == record.commit and best is not before,
            )
        )

    def _end(self, flight: _Flight, ended: Ended) -> None:
        self._finished += 1
        self._offspring[flight.choice.parent.commit] += 1
        self._recent.append(ended)
        warning = alarm(list(self._recent))
        if warning is not None and warning != self._alarmed:
            self._tell(Warned(message=warning))
        self._alarmed = warning

    # -- what is known ------------------------------------------------------------------------------------------

    def _load_candidate(self, commit: str) -> Candidate:
        record = self._archive.find(commit)
        return Candidate(program=self._archive.load(record), evaluation=self._archive.evaluation(record))

    def _restore(self) -> None:
        """Take up what the archive holds: the elites, the counts, and every generation that is not at its end."""
        archive = self._archive
        scores = {record.commit: record.combined_score for record in archive.programs}
        for record in archive.programs:
            self._elites = admit(self._elites, record, size=self._config.search.elites)
            if record.parents:
                self._offspring[record.parents[0]] += 1
                self._tally.valid += record.correct
                self._tally.improved += record.correct and record.combined_score > scores[record.parents[0]]
        for ended in archive.ended_without_program():
            self._offspring[ended.parents[0]] += 1
        self._tally.answered, self._tally.applied, self._tally.new = archive.funnel()
        proposals = [generation for generation in archive.statuses if generation > 0]
        self._finished = self._finished_before = len(proposals) - len(archive.unfinished())
        self._next = archive.next_generation
        for orphan in archive.orphans():
            archive.lost(orphan.generation, orphan.attempt)
        for unfinished in archive.unfinished():
            flight = _Flight(
                generation=unfinished.generation,
                attempt=unfinished.attempt,
                choice=Choice(
                    kind=PatchKind(unfinished.kind),
                    island=unfinished.island,
                    parent=archive.find(unfinished.parents[0]),
                    inspirations=tuple(archive.find(commit) for commit in unfinished.inspirations),
                ),
                refusals=[Refusal(answer=answer, message=message) for answer, message in unfinished.refusals],
            )
            if unfinished.answer is None or self._judge(flight, unfinished.answer) or flight.refusals:
                self._unfinished.append(flight)

    def progress(self) -> Progress:
        """Where the run stands now."""
        elapsed = time.monotonic() - self._began
        return Progress(
            finished=self._finished,
            generations=self._config.generations,
            in_flight=self._in_flight(),
            best=self._archive.best,
            ceiling=self._evaluator.ceiling,
            tally=self._tally,
            elapsed_s=elapsed,
            time_left_s=time_left(
                finished=self._finished,
                generations=self._config.generations,
                minutes=self._config.minutes,
                session_finished=self._finished - self._finished_before,
                elapsed_s=elapsed,
            ),
        )

    def _tell(self, event: Event) -> None:
        self._listener.tell(event, self.progress())
