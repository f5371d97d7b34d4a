"""The workers of a cluster in a run: what happens to them goes on record, and what an expelled one reported is scored
again."""

from dataclasses import replace
from functools import partial

from evaluator.evaluation import EvaluatedOn, Incumbent
from evaluator.program_files import Files
from evaluator.remote import WorkerActivity, WorkerState
from evaluator.untrusted import one_line
from evolve.archive.events import WorkerChange, WorkerEvent
from evolve.archive.ranking import would_be_best
from evolve.archive.records import ProgramRecord
from evolve.evaluation.elsewhere import FalseWord
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair, incumbent
from evolve.evaluation.recording import record_confirmed
from evolve.loop.context import RunContext
from evolve.loop.executor import Job, JobKind, Steps
from evolve.progress import Confirmed, WorkerChanged
from evolve.search.strategies import recall

_CHANGES = {
    WorkerActivity.IDLE: WorkerChange.JOINED,
    WorkerActivity.BUSY: WorkerChange.JOINED,
    WorkerActivity.LOST: WorkerChange.LOST,
    WorkerActivity.REFUSED: WorkerChange.REFUSED,
    WorkerActivity.EXPELLED: WorkerChange.EXPELLED,
}
_MOST_NAME = 100
_MOST_WHY = 900


def record_workers(run: RunContext) -> None:
    """Record which workers have joined, or were lost, refused or expelled."""
    by_name = {
        worker.name: worker for worker in sorted(run.evaluators.workers(), key=_is_there)
    }  # it may have come again
    for worker in by_name.values():
        if (change := _CHANGES.get(worker.state)) is not None:
            _record(run, worker.name, worker.host, change, level=worker.level, why=worker.why)


def _is_there(worker: WorkerState) -> bool:
    return worker.state in (WorkerActivity.IDLE, WorkerActivity.BUSY)


def distrust(run: RunContext, refuted: FalseWord | None) -> None:
    """Record that a worker is expelled, if it is refuted. What it reported and nobody confirmed is scored again."""
    if refuted is not None:
        _record(run, refuted.worker, refuted.host, WorkerChange.EXPELLED, why=refuted.why)


def distrust_late(run: RunContext, on: EvaluatedOn | None) -> None:
    """Have a program scored again that is on record now, if its worker was expelled while that was under way."""
    reader = run.archive.reader
    expelled = None if on is None else reader.workers.get(on.worker)
    if expelled is not None and expelled.change is WorkerChange.EXPELLED:
        late = tuple(number for number in reader.unconfirmed_of(expelled.worker) if number not in reader.outdated)
        run.archive.add(replace(expelled, rescore=late))


def _record(run: RunContext, worker: str, host: str, change: WorkerChange, *, level: str = "", why: str = "") -> None:
    """Record what happened to a worker, unless that is on record as the last thing."""
    reader, name = run.archive.reader, one_line(worker, _MOST_NAME)
    last = reader.workers.get(name)
    if last is not None and last.change is change:
        return
    if change is WorkerChange.LOST and (last is None or last.change is not WorkerChange.JOINED):
        return  # it was none of the run's
    event = WorkerEvent(
        worker=name,
        host=one_line(host, _MOST_NAME),
        change=change,
        level=level or ("" if last is None else last.level),
        why=one_line(why, _MOST_WHY),
        rescore=tuple(reader.unconfirmed_of(name)) if change is WorkerChange.EXPELLED else (),
    )
    run.archive.add(event)
    run.tell(WorkerChanged(event=event))


def to_score_again(run: RunContext) -> list[ProgramRecord]:
    """The programs that an expelled worker evaluated. One that awaits its confirmation is evaluated then."""
    reader = run.archive.reader
    return [record for record in reader.to_rescore if record.generation not in reader.waiting]


def scoring_again(run: RunContext, record: ProgramRecord) -> Steps:
    """Evaluate a program of an expelled worker at home, and record that; confirmed first, if it would be the best."""
    reader = run.archive.reader
    best = reader.best, incumbent(reader)
    work = partial(_judged_again, run.evaluators, reader.files(record), best, record.generation)
    confirmation = yield Job(kind=JobKind.RESCORE, work=work, generation=record.generation)
    if record.generation not in reader.outdated:  # it was confirmed meanwhile
        return
    position = reader.position
    held_out = record_confirmed(run.archive, run.evaluators, record, confirmation)
    after, detail = reader.find(record.commit), confirmation.evaluation.detail
    recall(run.search, reader.history(since=position))
    run.summaries.confirmed(record, after)
    run.requests.renew()
    run.tell(Confirmed(record=after, detail=detail, is_best=reader.best is after, held_out=held_out))


def _judged_again(
    evaluators: EvaluatorPair,
    program: Files,
    best: tuple[ProgramRecord | None, Incumbent | None],
    generation: int,
) -> Confirmation:
    evaluation = evaluators.evaluator.evaluate(program)
    before, measured_against = best
    if would_be_best(before, generation, evaluation):
        return evaluators.confirm(program, evaluation, measured_against)
    return Confirmation(evaluation=evaluation)
