"""What a session of a run works with, and what each of its generations does."""

from collections.abc import Callable
from dataclasses import dataclass

from evolve.archive.archive import Archive
from evolve.core.config import Config
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.loop.calls import Calls
from evolve.loop.executor import Executor
from evolve.loop.summaries import Summaries
from evolve.opening import Models
from evolve.progress import Event
from evolve.propose.building import recorded_result
from evolve.propose.requests import Requests
from evolve.propose.tuning.tuner import tuner_of
from evolve.seams import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class RunServices:
    """What a session of a run works with."""

    archive: Archive
    config: Config
    evaluators: EvaluatorPair
    models: Models
    search: Search


class RunContext:
    """What every generation of a session works with. `tuner` answers the kind `tune`; `building` maps the programs
    under way to their generations."""

    def __init__(
        self,
        services: RunServices,
        executor: Executor,
        *,
        tell: Callable[[Event], None],
        draining: Callable[[], bool] = lambda: False,
    ) -> None:
        archive, config, models = services.archive, services.config, services.models
        self.archive, self.config, self.models, self.tell, self.draining = archive, config, models, tell, draining
        self.evaluators, self.search = services.evaluators, services.search
        self.tuner = tuner_of(config, self.evaluators)
        self.requests = Requests(archive.reader, seed=config.seed, elites=config.search.elites)
        self.calls = Calls(archive, executor, config=config, usual=models.usual, draining=draining, tell=tell)
        self.summaries = Summaries(archive, models.writer, config=config, executor=executor, calls=self.calls)
        self.building: dict[str, int] = {}

    def hurry(self) -> None:
        """Have the requests that wait to be sent look whether the run is to end."""
        self.calls.hurry()
        self.models.stopping.wake()

    def known(self, source_hash: str) -> tuple[int, str] | None:
        """The generation that has a program already, recorded or under way, and its outcome."""
        under_way = self.building.get(source_hash)
        being_built = None if under_way is None else (under_way, "being evaluated")
        return recorded_result(self.archive.reader, source_hash) or being_built
