"""What the numbers of a run's initial program are worth alone: tuned after the search, as a measurement for readers."""

from collections.abc import Callable

from evaluator.evaluation import Evaluation
from evaluator.task import Task
from evolve.archive.archive import Archive
from evolve.archive.events import TuningBaselineEvent
from evolve.core.errors import InputError
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.propose.tuning.search import Rank
from evolve.propose.tuning.tuner import NOTHING, Tuner, chance_in, chosen, measured_again, require_tunable


def require_baseline(task: Task, initial: Evaluation) -> None:
    """Raise InputError where a search over the initial program's numbers would follow chance."""
    require_tunable(task, what="--tuning-baseline")
    if (chance := chance_in(initial)) is not None:
        raise InputError(f"--tuning-baseline: of the initial program {chance}")


def measure_baseline(
    archive: Archive,
    evaluators: EvaluatorPair,
    proposals: int,
    *,
    workers: int,
    tell: Callable[[int, Rank], None] = lambda done, best: None,
    stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Tune the numbers of the initial program with as many evaluations as `proposals`, and record what that
    reaches. False where it was `stopped` before its end: nothing is recorded then. What is on record already is not
    measured again. `tell` is that of `Tuner.tune`. Raises EvaluatorError."""
    reader = archive.reader
    if (recorded := reader.tuning_baseline) is not None and recorded.proposals == proposals:
        return True
    initial = reader.programs[0]
    program, tuning, value = reader.files(initial), dict(NOTHING), initial.value
    if chosen(program, evaluations=proposals)[1]:
        assert evaluators.others is not None
        # The run's own evaluators were cancelled at its end.
        with evaluators.others(evaluators.evaluator.suite, workers=workers, alone=False) as evaluator:
            start = measured_again(evaluator, program, reader.evaluation(initial))
            seed = f"{reader.identity['seed']}:{initial.generation}"
            tuner = Tuner(evaluator, proposals, workers)
            tuned = tuner.tune(program, start, seed=seed, tell=tell, stopped=stopped, cancel=evaluator.cancel)
            if stopped():
                return False
            tuning = tuned.taken
            if tuned.gained:
                final = measured_again(evaluator, tuned.files, evaluator.evaluate(tuned.files))
                value = final.value if final.correct and chance_in(final) is None else value
    archive.add(TuningBaselineEvent(proposals=proposals, tuning=tuning, value=value))
    return True
