"""A run without its command, its session and its sandbox: what the loop is made of, or the loop, in this process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evaluator.yaml_file import read_mapping
from evolve.archive.archive import Archive
from evolve.core.config import Config, build_config, render_config
from evolve.evaluation.beginning import record_initial
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.loop.admission import Admission
from evolve.loop.context import RunContext, RunServices
from evolve.loop.executor import Executor, ThreadExecutor
from evolve.loop.loop import Loop
from evolve.opening import open_models
from evolve.progress import Event, Progress
from evolve.seams import Search
from evolve.search.stopping import StopReason
from evolve.search.strategies import open_search, recall
from tests.loop.virtual import VirtualExecutor
from tests.seams.in_process import InProcessEvaluator

Open = Callable[[Task, Suite], InProcessEvaluator]


class Watch:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(self, event: Event, progress: Progress) -> None:
        self.events.append(event)

    def tick(self, progress: Progress) -> None:
        pass


@dataclass(slots=True, kw_only=True)
class Run:
    """A run that stands still until somebody drives it."""

    archive: Archive
    search: Search
    services: RunServices
    context: RunContext
    executor: Executor
    watch: Watch = field(default_factory=Watch)

    def go(self) -> StopReason:
        """Let the loop have it."""
        admit = partial(Admission, executor=self.executor, interrupt=threading.Event())
        return Loop(self.services, self.executor, self.watch, admit).run()


@contextmanager
def begun(folder: Path, config_file: str, evaluator: Open = InProcessEvaluator) -> Iterator[Run]:
    """A run of the task `climb` in `folder`, with its initial program on record."""
    config = build_config(read_mapping(Path(config_file), error=ValueError), origin=config_file)
    with Archive.create(
        folder, config_text=render_config(config), identity={"task": "placement", "suite": "adrs", "seed": config.seed}
    ) as archive:
        task = load_task(config.task)
        source = task.initial.read_text(encoding="utf-8")
        with _opened(archive, config, evaluator) as run:
            evaluators = run.context.evaluators
            record_initial(archive, source, evaluators.judge(source), evaluators)
            recall(run.search, archive.reader.history())
            yield run


def through(folder: Path, config_file: str) -> StopReason:
    """The run `r` of the task `climb`, to its end and in virtual time; why it ended."""
    with begun(folder / "runs" / "r", config_file) as run:
        run.executor = VirtualExecutor(lambda job: 1.0)
        return run.go()


@contextmanager
def taken_up(folder: Path, config_file: str, evaluator: Open = InProcessEvaluator) -> Iterator[Run]:
    """The run in `folder`, as it was left; nothing is restored before somebody does it."""
    config = build_config(read_mapping(Path(config_file), error=ValueError), origin=config_file)
    with Archive.open(folder) as archive:
        archive.resumed()
        with _opened(archive, config, evaluator) as run:
            yield run


@contextmanager
def _opened(archive: Archive, config: Config, evaluator: Open) -> Iterator[Run]:
    task = load_task(config.task)
    suite = task.suite(config.suite)
    models = open_models(config, task, suite)
    search = open_search(models.search_settings(config))
    watch = Watch()
    services = RunServices(
        archive=archive,
        config=config,
        evaluators=EvaluatorPair(task=task, evaluator=evaluator(task, suite), held_out=None),
        models=models,
        search=search,
    )
    executor = ThreadExecutor(asking=config.parallel + 1, evaluating=config.processes)
    context = RunContext(services, executor, tell=lambda event: watch.tell(event, None))  # type: ignore[arg-type]
    yield Run(archive=archive, search=search, services=services, context=context, executor=executor, watch=watch)
