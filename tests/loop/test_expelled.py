"""What an expelled worker reported is scored again: in the loop, in virtual time."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.evaluation import EvaluatedOn, Evaluation
from evaluator.program_files import Files
from evaluator.task import Suite, Task
from evolve.archive.archive import Archive
from evolve.archive.events import WorkerChange
from evolve.loop.executor import JobKind
from evolve.progress import WorkerChanged
from evolve.search.stopping import StopReason
from tests.builders import one_file
from tests.loop.by_hand import begun
from tests.loop.climbing import configure, patch, script
from tests.loop.virtual import VirtualExecutor
from tests.seams.in_process import InProcessEvaluator

LIAR = EvaluatedOn(host="far-away", worker="liar")
STEPS = (7, 2, 9, 4, 5)
"""The first three are called worse than they are, the fourth better."""
WORSE, BETTER = "OFFSET = 500", "OFFSET = 0"


class Workers(InProcessEvaluator):
    """The first evaluation of a program but the initial one is a worker's, which lies; the others are at home."""

    def __init__(self, task: Task, suite: Suite) -> None:
        super().__init__(task, suite)
        self.seen: set[str] = set()

    def evaluate(self, program: Files) -> Evaluation:
        source = program.only
        if source in self.seen or "OFFSET -=" not in source:
            return super().evaluate(program)
        self.seen.add(source)
        lie = WORSE if len(self.seen) < 4 else BETTER if len(self.seen) == 4 else ""
        return replace(super().evaluate(one_file(f"{source}\n{lie}\n")), on=LIAR)


@pytest.mark.parametrize("parallel", [1, 3])
def test_its_unconfirmed_results_are_scored_again_and_the_true_best_leads(tmp_path: Path, parallel: int) -> None:
    answers = [patch(step, name=f"step_{number}") for number, step in enumerate(STEPS, 1)]
    search = {"elites": 3, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}}
    config = configure(
        tmp_path, models=[script(tmp_path, answers)], generations=len(STEPS), parallel=parallel, search=search
    )
    folder = tmp_path / "runs" / "r"
    with begun(folder, config, evaluator=Workers) as run:
        run.executor = VirtualExecutor(
            lambda job: 3.0 if job.kind is JobKind.RESCORE else 1.0 + (job.generation or 0) / 9
        )
        assert run.go() is StopReason.GENERATIONS
        reader = run.archive.reader
        changes = [event.event for event in run.watch.events if isinstance(event, WorkerChanged)]
        assert [(event.worker, event.host, event.change) for event in changes] == [
            ("liar", "far-away", WorkerChange.EXPELLED)
        ]
        assert "it reported cost 4" in changes[0].why
        assert set(changes[0].rescore) >= {1, 2, 3, 4}
        assert not reader.outdated
        honest = InProcessEvaluator(run.services.evaluators.task, run.services.evaluators.evaluator.suite)
        for record in reader.programs:
            if record.generation in changes[0].rescore:
                assert record.on is None
                assert record.combined_score == honest.evaluate(reader.files(record)).combined_score
        assert reader.best is not None
        assert reader.best.combined_score == max(record.combined_score for record in reader.programs)
        assert reader.funnel.correct == len(STEPS)
        fingerprint = reader.fingerprint()
    with Archive.open(folder) as again:
        assert again.reader.fingerprint() == fingerprint
        assert again.reader.workers["liar"].change is WorkerChange.EXPELLED
        assert again.reader.funnel.correct == len(STEPS)
