"""Checks of a cluster: is there a scheduler, and which workers would evaluate programs of a task?"""

import time
from dataclasses import replace
from typing import Final

from evaluator.check import Check, Finding
from evaluator.errors import EvaluatorError
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.places import DEFAULT_TASK
from evaluator.program_files import Files
from evaluator.remote import RemoteEvaluator, WorkerActivity, WorkerLost, WorkerState
from evaluator.task_files import load_task
from evolve.cluster.remote import ClusterRemote, Patience, open_remote
from evolve.core.clusters import read_address
from evolve.core.invocation import command

_NONE_S: Final = 10.0
"""How long a scheduler or a first worker is waited for."""
_SETTLE_S: Final = 30.0
_LOOK_S: Final = 0.2
_UNSETTLED: Final = (WorkerActivity.NEW, WorkerActivity.OPENING)


def check_cluster(address: str, task_name: str | None) -> list[Check]:
    """Whether the scheduler answers, each of its workers, and an evaluation there. Raises InputError,
    TaskError, MachineError."""
    where = read_address(address)
    task = load_task(task_name or DEFAULT_TASK)
    control, suite = task.initial_files(), task.suite()
    patience = replace(Patience.for_suite(suite), none_s=_NONE_S)
    try:
        with (
            open_evaluator(task, suite, workers=1) as opened,
            open_remote(where, task, opened.suite, control=control, level=opened.sandbox, patience=patience) as remote,
        ):
            remote.wait_for_worker()
            checks = [Check("cluster", Finding.OK, f"{address} answers")]
            checks += [_check_worker(worker) for worker in _settled(remote, where.local)]
            return [*checks, _check_evaluation(opened, remote, control)]
    except EvaluatorError as cause:
        fix = f"start a worker with: {command('worker', address)}" if where.scheduler else "look at this machine's load"
        return [Check("cluster", Finding.BROKEN, str(cause), fix)]


def _settled(remote: ClusterRemote, fewest: int) -> tuple[WorkerState, ...]:
    """The workers, once there are `fewest` of them and each has reported on itself, or had time for it."""
    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        states = [worker.state for worker in remote.workers()]
        if len(states) >= fewest and not any(state in _UNSETTLED for state in states):
            break
        time.sleep(_LOOK_S)
    return remote.workers()


def _check_worker(worker: WorkerState) -> Check:
    """One worker: where it is, and why it is refused, if so."""
    name = f"worker {worker.name}"
    if worker.report is None or worker.state not in (WorkerActivity.IDLE, WorkerActivity.BUSY):
        why = worker.why or "it does not report on itself"
        fix = "install the head's versions there, or leave this worker out"
        return Check(name, Finding.BROKEN, f"on {worker.host}: {worker.state.value}: {why}", fix, needed=False)
    report = worker.report
    return Check(
        name,
        Finding.OK,
        f"on {worker.host}: evolve {report.versions.evolve}, Python {report.versions.python}, sandbox level "
        f"{worker.level}, {report.cores} cores, calibration {1000 * report.calibration_cpu_s:.0f} ms of CPU time",
    )


def _check_evaluation(home: OpenedEvaluator, remote: ClusterRemote, control: Files) -> Check:
    """Whether the initial program has the same verdict there and here."""
    try:
        there = RemoteEvaluator(home, remote).evaluate(control)
    except WorkerLost as lost:
        return Check("evaluation there", Finding.BROKEN, str(lost), "look at that worker's output")
    here = home.evaluate(control)
    place = "here" if there.on is None else f"on {there.on.host}"
    if [result.exact_result for result in there.results] == [result.exact_result for result in here.results]:
        return Check("evaluation there", Finding.OK, f"the initial program has the same verdict {place} and at home")
    fix = "use machines whose floats agree with the head's, or the head alone"
    detail = f"the initial program has another verdict {place} than at home ({there.detail or there.combined_score})"
    return Check("evaluation there", Finding.BROKEN, detail, fix)
