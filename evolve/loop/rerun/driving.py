"""A whole run again from its record: the real steps, driven event by event in the order on record."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evaluator.waiting import threads
from evolve.archive.archive import Archive
from evolve.archive.events import (
    AskedEvent,
    EvaluatedEvent,
    Event,
    ExcludedEvent,
    ReorderedEvent,
    RescoredEvent,
    ResumedEvent,
    TuningBaselineEvent,
)
from evolve.archive.reader import RunReader
from evolve.core.config import MOST_AT_ONCE, render_config
from evolve.core.errors import InputError, PatchError
from evolve.core.program import normalised_hash
from evolve.evaluation.beginning import record_initial
from evolve.evaluation.evaluators import EvaluatorPair, open_evaluators
from evolve.evaluation.generalising import try_new_orders
from evolve.evaluation.recording import question_of, rescore
from evolve.lang.languages import language_of_task
from evolve.loop.context import RunServices
from evolve.loop.loop import Loop
from evolve.loop.rerun.divergence import Diverged, Divergence, SessionOver
from evolve.loop.rerun.record import JUDGES, Record
from evolve.loop.rerun.recorded import RecordedExecutor, Tools
from evolve.loop.rerun.stand_ins import (
    RecordedLLM,
    RecordedProposer,
    RecordedSummarizer,
)
from evolve.loop.rerun.tape import CheckedJournal, RerunCounts, Tape
from evolve.loop.rerun.verdicts import RecordedJudge, VerdictTally
from evolve.opening import open_models, task_of_run
from evolve.progress import Event as ProgressEvent
from evolve.progress import Progress
from evolve.propose.tuning.baseline import measure_baseline
from evolve.propose.tuning.recording import choice_to_tune, judged, record_tuning
from evolve.search.strategies import open_search
from evolve.trust import Agree, own_run, refuse, require_trust_to_repeat

_AHEAD: Final = 2
"""How many programs are evaluated ahead for each evaluator process."""
_MORE_THREADS: Final = 8


@dataclass(slots=True, kw_only=True)
class Repeated:
    """What came of doing a run again. `divergence` is where it differs from its record, None if it does not;
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
        sessions = map(record.config_of, record.sessions)
        own = require_trust_to_repeat(record, sessions, typed_task=task_folder is not None, agree=trust)
        task = task_of_run(record, task_folder or config.task, verb="rerun")
        if not record.programs:
            raise InputError(f"{folder}: the run was cut off before its initial program was recorded: nothing to rerun")
        control = record.source(record.programs[0])
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
                _begun(record, out or Path(temporary, "run"), task, owned=own and out is not None) as (archive, tape),
            ):
                judge = RecordedJudge(pair, record, pool, ahead=_AHEAD * count)
                found.verdicts, found.tally, found.kept = judge.tally, tape.tally, out
                _Rerun(
                    record=record,
                    archive=archive,
                    tape=tape,
                    judge=judge,
                    evaluators=replace(pair, evaluator=judge),
                    threads=pool,
                    pair=pair,
                    found=found,
                    workers=count,
                    heard=tell,
                    session=record.sessions[0],
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


@dataclass(slots=True, kw_only=True)
class _Rerun(Tools):
    """One pass over a record; the listener of its loops. `heard` is `tell` of `rerun`."""

    pair: EvaluatorPair
    found: Repeated
    workers: int
    heard: Callable[[int, int], None]

    def run(self) -> None:
        """Go through the record to its end, or to where what is found diverges from it."""
        tape, found = self.tape, self.found
        try:
            while (event := tape.next) is not None:
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
        tape = self.tape
        match event:
            case ResumedEvent():
                self._resumed(event)
            case _ if tape.stands(event):
                tape.take_over()
            case RescoredEvent() if self.archive.reader.to_rescore and not tape.judge_is_here:
                tape.take_over()
            case EvaluatedEvent(generation=0):
                self._initial()
            case TuningBaselineEvent():
                measure_baseline(self.archive, self.pair, event.proposals, workers=self.workers)
            case ReorderedEvent():
                suite, interrupt = self.pair.evaluator.suite, threading.Event()
                try_new_orders(self.archive, suite, self.pair.others, interrupt=interrupt, tell=lambda event: None)
            case _ if self.record.is_by_hand(event, self.session):
                self._by_hand(event)
            case _:
                self._run_loop()
        if tape.next is event:  # nothing led to it
            raise Diverged(tape.unexpected(None))

    def _run_loop(self) -> None:
        """Let the loop go on as far as the session did."""
        record, tape, session = self.record, self.tape, self.session
        tape.as_recorded = not session.questions_known
        pair = self._here()
        executor = RecordedExecutor(self)
        config = record.config_of(session)
        # A question may be put while others wait for their answers, in whichever order these come; and the record says
        # how far the session went.
        unlimited = {"parallel": MOST_AT_ONCE, "budget_usd": None, "budget_tokens": None, "budget_calls": None}
        many = config.model_copy(update=unlimited)
        models = open_models(
            many,
            pair.task,
            pair.evaluator.suite,
            threading.Event(),
            opened=lambda model: RecordedLLM(model.shown_name, executor.meta_answer),
        )
        search = open_search(models.search_settings(config))
        if tape.as_recorded:
            prompts = {key: tape.text(event.prompt) for key, event in record.chronicle.meta_answers.items()}
            summarizer = RecordedSummarizer(models.writer.summarizer, prompts, record.meta_failures)
            proposers = {name: RecordedProposer(proposer, tape) for name, proposer in models.proposers.items()}
            models = replace(models, proposers=proposers, writer=replace(models.writer, summarizer=summarizer))
        services = RunServices(archive=self.archive, config=many, evaluators=pair, models=models, search=search)
        Loop(services, executor, self, executor.admit).run()

    def _by_hand(self, event: Event) -> None:
        """What `evolve tune` did. Which program was tuned and what was found stand as recorded, since a person chose
        it; what comes of that is made, judged and compared."""
        tape, reader = self.tape, self.archive.reader
        if not isinstance(event, EvaluatedEvent):
            tape.as_recorded = True
            tape.tally.tuned += isinstance(event, AskedEvent)
            tape.take_over()
            return
        number, evaluators = event.generation, self._here()
        (answer,) = (begun.answer for begun in reader.unfinished() if begun.generation == number)
        assert answer is not None  # else the record would not hold together
        choice = choice_to_tune(reader.find(reader.generations[number].parents[0]))
        self.judge.expect(number)
        judge = partial(judged, self.archive, evaluators, number, choice, answer)
        try:
            program, confirmation = self.threads.result(self.threads.submit(judge))
        except PatchError as refused:
            made = {"event": "refused", "generation": number, "attempt": 0, "reason": refused.reason}
            raise Diverged(tape.unexpected(made)) from None
        question = question_of(number, event.attempt, choice)
        record_tuning(self.archive, evaluators, question, program, confirmation)

    def _here(self) -> EvaluatorPair:
        """The evaluators, as far as they scored in the session."""
        pair = self.evaluators
        return pair if self.tape.judge_is_here else replace(pair, held_out=None)

    def _initial(self) -> None:
        """The initial program is judged, and recorded."""
        record, tape, threads = self.record, self.tape, self.threads
        source = record.source(record.programs[0])
        tape.judge_is_here = self.judge.is_here(record.verdicts[0].session)
        self.judge.expect(0)
        confirmed = threads.result(threads.submit(self._here().judge, source))
        begun_with = record.created.identity.get("initial")
        found = normalised_hash(source, language_of_task(self.pair.task))
        if begun_with not in (None, found):
            what = "its program differs"
            raise Diverged(Divergence(generation=0, what=what, recorded=str(begun_with), found=found))
        record_initial(self.archive, source, confirmed, self.pair)

    def _resumed(self, event: ResumedEvent) -> None:
        """The next session begins, as `resume` does it."""
        self.session = self.record.sessions[self.session.number + 1]
        self.tape.judge_is_here = self.judge.is_here(self.session.number)
        self.archive.resumed(changed=event.changed, identity=event.identity or {}, rescore=event.rescore)
        while isinstance(excluded := self.tape.next, ExcludedEvent):
            self.archive.excluded(excluded.generation)
        if self.archive.reader.programs and self.tape.judge_is_here:
            rescore(self.archive, self.pair, workers=self.workers, tell=lambda done, of: None)

    def tell(self, event: ProgressEvent, now: Progress) -> None:
        """See Listener.tell."""
        self.heard(now.finished, self.found.generations)

    def tick(self, now: Progress) -> None:
        """See Listener.tick."""
