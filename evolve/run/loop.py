"""The loop: choose -> ask -> write the answer down -> apply -> evaluate -> record; every few programs, summarise.

One thread owns the archive and takes every decision; asking, evaluating and summarising happen in worker threads,
several at a time. What is decided depends only on what is recorded, so with one proposal in flight a run is a
function of its configuration, its seed and the answers.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache, partial
from typing import Any

from evaluator.evaluation import Evaluation
from evolve.archive.archive import Archive
from evolve.archive.records import Status
from evolve.completion import CallFailed, Completion, patch_key
from evolve.config import Config
from evolve.errors import PatchError
from evolve.patch.format import format_patch
from evolve.program import Origin
from evolve.progress import (
    Evaluated,
    Event,
    Failed,
    Progress,
    Refused,
    Stopping,
    Summarised,
    Warned,
    time_left,
)
from evolve.proposal import Refusal, Request, ScoredProgram
from evolve.propose.llm_proposer import problem_of
from evolve.run.bench import Bench, Confirmation, complete_held_out, held_out_of_best
from evolve.run.calls import Calls
from evolve.run.candidate import Duplicate, NewProgram, build_program
from evolve.run.desk import Desk
from evolve.run.flight import Flight, answer_of, chosen, taken_up
from evolve.run.population import Population
from evolve.run.rounds import Rounds, Summarizer
from evolve.seams import Listener, Proposer
from evolve.search.stopping import ALARM_AFTER, Ended, Standing, StopReason, alarm, stop_reason

TICK_S = 0.2
GRACE_S = 3.0
"""How long evaluations under way may still take once a run is to end early; what is cut off is judged on resume."""
UNREACHABLE_AFTER = 5
"""So many generations in a row without an answer, each after its retries, and the run ends."""


class Loop:
    """One session of a run. `run()` goes on until a limit is reached or `interrupt` is set."""

    def __init__(
        self,
        *,
        archive: Archive,
        bench: Bench,
        proposers: Sequence[tuple[Proposer, float]],
        summarizer: Summarizer,
        config: Config,
        listener: Listener,
        interrupt: threading.Event,
    ) -> None:
        self._archive = archive
        self._bench = bench
        self._evaluator = bench.evaluator
        self._proposers = {proposer.name: (proposer, share) for proposer, share in proposers}
        self._config = config
        self._listener = listener
        self._interrupt = interrupt
        self._population = Population(elites=config.search.elites)
        self._desk = Desk()
        self._calls = Calls(archive, self._desk, budget_usd=config.budget_usd, hurried=self._hurried)
        self._rounds = Rounds(
            archive,
            summarizer,
            every=config.meta_every,
            seed=config.seed,
            parallel=config.parallel,
            desk=self._desk,
            calls=self._calls,
        )
        self._recent: deque[Ended] = deque(maxlen=ALARM_AFTER)
        self._alarmed: str | None = None
        self._unanswered = 0  # generations in a row for which there was no answer
        self._waiting: dict[Future[Any], Callable[[Future[Any]], None]] = {}
        self._flights: dict[int, Flight] = {}
        self._asking = 0
        self._summarising = 0
        self._unfinished: deque[Flight] = deque()
        self._ending: StopReason | None = None
        self._candidate = lru_cache(maxsize=2 * config.search.elites)(self._load_candidate)
        self._began = time.monotonic()
        self._next = 1
        self._finished = 0
        self._finished_before = 0

    # -- the session --------------------------------------------------------------------------------------------

    def run(self) -> StopReason:
        """Go on until a limit is reached, everything in flight included. Says why it ended, in the record too."""
        self._asks = ThreadPoolExecutor(self._config.parallel + 1, thread_name_prefix="ask")
        self._evaluations = ThreadPoolExecutor(self._config.workers, thread_name_prefix="evaluate")
        try:
            self._restore()
            reason = self._go()
            if self._limit_reached() is StopReason.CEILING:
                reason = StopReason.CEILING  # whatever made it end, there was nothing left to do
            self._archive.stopped(reason.value)
            return reason
        finally:
            self._desk.close()
            self._asks.shutdown(wait=False, cancel_futures=True)
            self._evaluations.shutdown(wait=False, cancel_futures=True)

    def _go(self) -> StopReason:
        deadline = float("inf")
        while True:
            self._begin_what_may()
            if self._ends_early() and deadline == float("inf"):
                deadline = time.monotonic() + GRACE_S
                if self._ending is StopReason.INTERRUPTED:
                    self._tell(Stopping(answers=self._asking + self._summarising))
            # Answers on their way may be paid for and are waited for; evaluations can be done again.
            answers = self._asking + self._summarising
            if self._ending and not answers and (not self._waiting or time.monotonic() > deadline):
                return self._ending
            done, _ = wait([*self._waiting, self._desk.bell], timeout=TICK_S, return_when=FIRST_COMPLETED)
            self._desk.serve()
            for future in done:
                take = self._waiting.pop(future, None)
                if take is not None:
                    take(future)
            if not done:
                self._listener.tick(self.progress())

    def _begin_what_may(self) -> None:
        """Begin a round that is due, and as many generations as may be in flight."""
        self._ending = self._stop_reason()
        if self._rounds.due() and (not self._ends_early() or self._ending is StopReason.CEILING):
            self._summarising += 1
            self._waiting[self._asks.submit(self._rounds.prepare())] = self._take_round
        while self._ending is None and len(self._flights) + self._summarising < self._config.parallel:
            self._begin()
            self._ending = self._ending or self._stop_reason()

    def _ends_early(self) -> bool:
        """Whether the session ends without waiting for all that is under way (which resume then takes up)."""
        return self._ending not in (None, StopReason.GENERATIONS)

    def _hurried(self) -> bool:
        """Whether the session ends as soon as the answers under way are there, so that nothing more is asked."""
        return self._stop_reason() in (StopReason.INTERRUPTED, StopReason.MINUTES, StopReason.UNREACHABLE)

    def _stop_reason(self) -> StopReason | None:
        if self._interrupt.is_set():
            return StopReason.INTERRUPTED
        if self._unanswered >= UNREACHABLE_AFTER:
            return StopReason.UNREACHABLE
        if self._ending is not None or self._unfinished:
            return self._ending
        return self._limit_reached()

    def _limit_reached(self) -> StopReason | None:
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

    def _begin(self) -> None:
        if self._unfinished:
            flight = self._unfinished.popleft()
        else:
            flight = chosen(
                self._next,
                archive=self._archive,
                population=self._population,
                proposers=self._proposers,
                config=self._config,
            )
        if flight.program is not None:
            self._flights[flight.generation] = flight
            self._evaluate(flight, flight.program)
        elif self._ask(flight):
            self._next = max(self._next, flight.generation + 1)

    def _ask(self, flight: Flight) -> bool:
        """Put a question. False: the budget does not allow it, and the run ends."""
        choice = flight.choice
        request = Request(
            seed=self._config.seed,
            generation=flight.generation,
            attempt=flight.attempt,
            kind=choice.kind,
            parent=self._candidate(choice.parent.commit),
            inspirations=tuple(self._candidate(record.commit) for record in choice.inspirations),
            refusals=tuple(flight.refusals),
            guidance=self._rounds.guidance(flight.generation),
            tried=self._population.tried(self._archive, choice.parent),
        )
        prompt = flight.proposer.prompt(request)
        estimate_usd = flight.proposer.estimate_usd(prompt)
        if not self._calls.affordable(estimate_usd):
            self._flights.pop(flight.generation, None)
            self._ending = StopReason.BUDGET
            return False
        guidance = request.guidance if prompt is not None else None
        told = {} if guidance is None else {"document": guidance.document, "recommendation": guidance.number}
        self._archive.asked(
            flight.generation,
            flight.attempt,
            kind=choice.kind.value,
            island=choice.island,
            parents=[choice.parent.commit],
            inspirations=[record.commit for record in choice.inspirations],
            model=flight.proposer.name,
            prompt=prompt,
            estimate_usd=estimate_usd,
            extra={"guidance": told} if told else {},
        )
        observe = self._calls.observer(patch_key(flight.generation, flight.attempt))
        self._flights[flight.generation] = flight
        self._asking += 1
        future = self._asks.submit(flight.proposer.answer, request, prompt, observe)
        self._waiting[future] = partial(self._take_answer, flight)
        return True

    def _take_answer(self, flight: Flight, future: Future[Completion]) -> None:
        self._asking -= 1
        try:
            answer = future.result()
        except CallFailed as failed:
            self._fail(flight, failed)
            return
        self._unanswered = 0
        self._archive.answered(
            flight.generation,
            flight.attempt,
            text=answer.text,
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            reasoning=answer.reasoning,
        )
        self._judge(flight, answer)
        if flight.program is not None:
            self._evaluate(flight, flight.program)
        elif flight.refusals:
            if self._ends_early():
                del self._flights[flight.generation]
            else:
                self._ask(flight)

    def _fail(self, flight: Flight, failed: CallFailed) -> None:
        """There is no answer: the generation ends, or waits for the next session if this one cut it off."""
        if failed.reason == "cancelled":
            del self._flights[flight.generation]
            return
        if failed.reason == "budget":
            self._ending = StopReason.BUDGET
        else:
            self._unanswered += 1
        self._archive.refused(
            flight.generation,
            flight.attempt,
            reason=failed.reason,
            message=str(failed),
            final=True,
            status=Status.FAILED,
        )
        self._end(flight, Ended(fault=f"no answer: {failed.reason}", score=None))
        self._tell(Failed(generation=flight.generation, reason=failed.reason, message=str(failed)))

    def _judge(self, flight: Flight, answer: Completion) -> None:
        """Make a program of an answer, or record why not; the flight goes on while it has refusals to answer."""
        self._population.tally.answered += 1
        try:
            flight.program = self._program_of(flight, answer)
        except PatchError as refused:
            self._refuse(flight, answer.text, refused)
            return
        self._population.tally.applied += 1
        self._population.tally.new += 1

    def _program_of(self, flight: Flight, answer: Completion) -> NewProgram:
        """The program that an answer makes of its parent. Raises PatchError."""
        problem = problem_of(answer)
        if problem is not None:
            raise PatchError(*problem)
        parent = self._candidate(flight.choice.parent.commit).program.source
        return build_program(answer.text, kind=flight.choice.kind, parent_source=parent, known=self._known)

    def _refuse(self, flight: Flight, answer: str, refused: PatchError) -> None:
        final = flight.attempt + 1 >= self._config.attempts
        duplicate_of = refused.generation if isinstance(refused, Duplicate) else None
        self._population.tally.applied += duplicate_of is not None
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

    def _known(self, source_hash: str) -> int | None:
        recorded = self._archive.seen(source_hash)
        if recorded is not None:
            return recorded.generation
        for flight in (*self._flights.values(), *self._unfinished):
            if flight.program is not None and flight.program.source_hash == source_hash:
                return flight.generation
        return None

    def _evaluate(self, flight: Flight, program: NewProgram) -> None:
        future = self._evaluations.submit(self._evaluator.evaluate, program.source)
        self._waiting[future] = partial(self._take_evaluation, flight, program)

    def _take_evaluation(self, flight: Flight, program: NewProgram, future: Future[Evaluation]) -> None:
        evaluation = future.result()
        if self._archive.would_be_best(flight.generation, evaluation):
            confirmation = self._evaluations.submit(self._bench.confirm, program.source, evaluation)
            self._waiting[confirmation] = partial(self._take_confirmation, flight, program)
        else:
            self._record(flight, program, evaluation, None)

    def _take_confirmation(self, flight: Flight, program: NewProgram, future: Future[Confirmation]) -> None:
        confirmation = future.result()
        self._record(flight, program, confirmation.evaluation, confirmation.held_out)

    def _record(self, flight: Flight, program: NewProgram, evaluation: Evaluation, held_out: Evaluation | None) -> None:
        choice = flight.choice
        before = self._archive.best
        record = self._archive.evaluated(
            flight.generation,
            flight.attempt,
            source=program.source,
            patch_text=format_patch(program.patch),
            origin=Origin(
                kind=choice.kind,
                model=flight.proposer.name,
                patch_name=program.patch.name,
                description=program.patch.description,
                features=program.features,
            ),
            parents=[choice.parent.commit],
            inspirations=[inspiration.commit for inspiration in choice.inspirations],
            island=choice.island,
            source_hash=program.source_hash,
            evaluation=evaluation,
        )
        parent_score = choice.parent.combined_score
        self._population.add(record, parent_score)
        fault = None if record.correct else f"{evaluation.outcome.value}: {evaluation.detail[:200]}"
        self._end(flight, Ended(fault=fault, score=record.combined_score))
        is_best = self._archive.best is not before
        held = self._archive.held_out(record.generation, held_out) if is_best and held_out is not None else None
        self._tell(
            Evaluated(
                record=record, detail=evaluation.detail, parent_score=parent_score, is_best=is_best, held_out=held
            )
        )

    def _end(self, flight: Flight, ended: Ended) -> None:
        self._flights.pop(flight.generation, None)
        self._finished += 1
        self._population.ended(flight.generation, flight.choice.parent.commit)
        self._rounds.add(flight.generation)
        self._recent.append(ended)
        warning = alarm(list(self._recent))
        if warning is not None and warning != self._alarmed:
            self._tell(Warned(message=warning))
        self._alarmed = warning

    def _take_round(self, future: Future[Any]) -> None:
        self._summarising -= 1
        result = future.result()
        if result.document is None and self._hurried():
            self._rounds.abandon()
            return
        self._rounds.finish(result)
        self._tell(Summarised(programs=self._archive.meta.begun, problems=result.problems))

    # -- what is known ------------------------------------------------------------------------------------------

    def _load_candidate(self, commit: str) -> ScoredProgram:
        record = self._archive.find(commit)
        return ScoredProgram(program=self._archive.load(record), evaluation=self._archive.evaluation(record))

    def _restore(self) -> None:
        """Take up what the archive holds, and every generation that is not at its end."""
        archive = self._archive
        complete_held_out(archive, self._bench)
        self._population.restore(archive)
        self._rounds.restore()
        proposals = [generation for generation in archive.statuses if generation > 0]
        self._finished = self._finished_before = len(proposals) - len(archive.unfinished())
        self._next = archive.next_generation
        for orphan in archive.orphans():
            archive.lost(orphan.generation, orphan.attempt)
        for unfinished in archive.unfinished():
            flight = taken_up(unfinished, archive, self._proposers[unfinished.model][0])
            answer = answer_of(unfinished)
            if answer is not None:
                self._judge(flight, answer)
            if answer is None or flight.program is not None or flight.refusals:
                self._unfinished.append(flight)

    def progress(self) -> Progress:
        """Where the run stands now."""
        elapsed = time.monotonic() - self._began
        return Progress(
            finished=self._finished,
            generations=self._config.generations,
            in_flight=len(self._flights),
            best=self._archive.best,
            held_out=held_out_of_best(self._archive),
            ceiling=self._evaluator.ceiling,
            tally=self._population.tally,
            spent=self._archive.spent,
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
