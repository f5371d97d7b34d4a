"""What one step of the loop begins together, and ends in another order: in virtual time, so that it does each time."""

import threading
from functools import partial
from itertools import pairwise
from pathlib import Path

from evaluator.yaml_file import read_mapping
from evolve.config import build_config
from evolve.loop.admission import LiveAdmission
from evolve.loop.executor import Job, JobKind
from evolve.loop.loop import Loop
from evolve.loop.session import new_session
from evolve.rerun.driving import rerun
from evolve.search.stopping import StopReason
from tests.loop.by_hand import Watch
from tests.loop.climbing import configure, events, patch, script
from tests.loop.killing import META
from tests.loop.virtual import VirtualExecutor


def takes(job: Job) -> float:
    """Answers and reports take long, all else next to nothing."""
    return 2.0 if job.kind in (JobKind.ASK, JobKind.SUMMARISE) else 0.001


def test_a_report_and_a_confirmation_that_began_together(tmp_path: Path) -> None:
    models = [script(tmp_path, [patch(1.5)], [META])]
    file = configure(tmp_path, models=models, generations=1, parallel=2, meta_every=2)
    config = build_config(read_mapping(Path(file), error=ValueError), origin=file)
    folder, executor = tmp_path / "runs" / "r", VirtualExecutor(takes)
    with new_session(config, folder) as session:
        admit = partial(LiveAdmission, executor=executor, interrupt=threading.Event())
        assert Loop(session, executor, Watch(), admit).run() is StopReason.GENERATIONS
    names = [event["event"] for event in events(tmp_path)]
    assert ("summarising", "rescored") in pairwise(names)
    assert rerun(folder).equal
