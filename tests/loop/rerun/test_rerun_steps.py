"""What one step of the loop begins together, and ends in another order: in virtual time, so that it does each time."""

import threading
from functools import partial
from itertools import pairwise
from pathlib import Path

from evaluator.yaml_file import read_mapping
from evolve.core.config import build_config
from evolve.loop.admission import Admission
from evolve.loop.executor import Job, JobKind
from evolve.loop.loop import Loop
from evolve.loop.rerun.driving import RecordedAdmission, rerun
from evolve.loop.session import Changes, Session, new_session, resumed_session
from evolve.search.stopping import StopReason
from tests.loop.by_hand import Watch
from tests.loop.climbing import configure, events, patch, script
from tests.loop.killing import META
from tests.loop.virtual import VirtualExecutor


def takes(job: Job) -> float:
    """Answers and reports take long, all else next to nothing."""
    return 2.0 if job.kind in (JobKind.ASK, JobKind.SUMMARISE) else 0.001


def go(session: Session, executor: VirtualExecutor, interrupt: threading.Event | None = None) -> StopReason:
    admit = partial(Admission, executor=executor, interrupt=interrupt or threading.Event())
    return Loop(session, executor, Watch(), admit).run()


def test_a_report_and_a_confirmation_that_began_together(tmp_path: Path) -> None:
    models = [script(tmp_path, [patch(1.5)], [META])]
    file = configure(tmp_path, models=models, generations=1, parallel=2, meta_every=2)
    config = build_config(read_mapping(Path(file), error=ValueError), origin=file)
    folder, executor = tmp_path / "runs" / "r", VirtualExecutor(takes)
    with new_session(config, folder) as session:
        assert go(session, executor) is StopReason.GENERATIONS
    names = [event["event"] for event in events(tmp_path)]
    assert ("summarising", "rescored") in pairwise(names)
    assert rerun(folder).equal


def test_an_answer_that_repeats_a_program_that_was_cut_off_and_whose_evaluation_then_fails(tmp_path: Path) -> None:
    """The second session evaluates the program again from its start, so what is asked meanwhile may repeat it."""
    fails = patch("OFFSET = None")
    models = [script(tmp_path, [[fails, patch(1.5)], [fails, patch(1.25)]])]
    file = configure(tmp_path, models=models, generations=1, parallel=2)
    config = build_config(read_mapping(Path(file), error=ValueError), origin=file)
    folder = tmp_path / "runs" / "r"
    interrupt = threading.Event()

    def cut_off(job: Job) -> float:
        if job.kind is JobKind.EVALUATE:
            interrupt.set()
        return 1.0

    with new_session(config, folder) as session:
        assert go(session, VirtualExecutor(cut_off), interrupt) is StopReason.INTERRUPTED
    with resumed_session(folder, Changes(settings={"generations": 2})) as session:
        evaluated_last = VirtualExecutor(lambda job: 5.0 if job.kind is JobKind.EVALUATE else 1.0)
        assert go(session, evaluated_last) is StopReason.GENERATIONS
    refused = [event for event in events(tmp_path) if event["event"] == "refused"]
    assert [(event["generation"], event.get("duplicate_of")) for event in refused] == [(2, 1), (1, None)]
    assert rerun(folder).divergence is None


def test_what_begins_and_what_ends_in_a_rerun_is_never_decided_as_in_a_run() -> None:
    decisions = {name for name in vars(Admission) if not name.startswith("_")}
    assert decisions <= set(vars(RecordedAdmission))
