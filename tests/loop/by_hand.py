"""A run without its command, its session and its sandbox: what the loop is made of, or the loop, in this process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evaluator.yaml_file import read_mapping
from evolve.archive.archive import Archive
from evolve.config import Config, build_config, render_config
from evolve.judging.beginning import record_initial
from evolve.judging.evaluators import EvaluatorPair
from evolve.loop.calls import Calls
from evolve.loop.generation import RunContext
from evolve.loop.loop import Loop, RunServices
from evolve.loop.mailbox import Mailbox
from evolve.loop.summaries import Summaries
from evolve.opening import Models, open_models
from evolve.progress import Event, Progress
from evolve.propose.requests import Requests
from evolve.seams import Search
from evolve.search.stopping import StopReason
from evolve.search.strategies import open_search, recall
from evolve.tuning.tuner import tuner_of
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
    config: Config
    models: Models
    search: Search
    context: RunContext
    watch: Watch = field(default_factory=Watch)

    def go(self) -> StopReason:
        """Let the loop have it."""
        services = RunServices(
            archive=self.archive,
            config=self.config,
            evaluators=self.context.evaluators,
            models=self.models,
            search=self.search,
        )
        return Loop(services, self.watch, threading.Event()).run()


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
    models = open_models(config, task, suite, threading.Event())
    search = open_search(models.search_settings(config))
    mailbox, watch = Mailbox(), Watch()
    evaluators = EvaluatorPair(task=task, evaluator=evaluator(task, suite), held_out=None)
    calls = Calls(
        archive,
        mailbox,
        config=config,
        usual=models.usual,
        hurried=lambda: False,
        tell=lambda event: watch.tell(event, None),  # type: ignore[arg-type]
    )
    context = RunContext(
        archive=archive,
        config=config,
        search=search,
        proposers=models.proposers,
        tuner=tuner_of(config, archive.reader, evaluators),
        evaluators=evaluators,
        requests=Requests(archive.reader, seed=config.seed, elites=config.search.elites),
        summaries=Summaries(archive, models.writer, config=config, mailbox=mailbox, calls=calls),
        calls=calls,
        tell=lambda event: watch.tell(event, None),  # type: ignore[arg-type]
    )
    yield Run(archive=archive, config=config, models=models, search=search, context=context, watch=watch)
