"""The strategies that ship, by name, and those of others by dotted path."""

from collections.abc import Callable, Iterable
from typing import cast

from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.dotted import is_dotted, open_dotted
from evolve.errors import InputError
from evolve.proposal import SearchSettings
from evolve.seams import Search
from evolve.search.baselines import BestOfN, Sequential
from evolve.search.evolution import Evolution
from evolve.search.islands import Islands

STRATEGIES: dict[str, Callable[[SearchSettings], Search]] = {
    "evolve": Evolution,
    "best_of_n": BestOfN,
    "islands": Islands,
    "sequential": Sequential,
}


def open_search(settings: SearchSettings) -> Search:
    """The strategy that the configuration names, told of nothing yet. Raises InputError for an unknown one."""
    name = settings.config.strategy
    if is_dotted(name):
        methods = ("choose", "ended", "confirmed")
        return cast(Search, open_dotted(name, settings, key="search.strategy", methods=methods))
    if name not in STRATEGIES:
        known = ", ".join(sorted(STRATEGIES))
        raise InputError(f"search.strategy: {name!r} is none of {known}, and no dotted path (package.module:Class)")
    return STRATEGIES[name](settings)


def recall(search: Search, history: Iterable[EndedGeneration | ProgramRecord]) -> None:
    """Tell a search of what an archive holds (`RunReader.history`), as it was told while that came."""
    for told in history:
        if isinstance(told, EndedGeneration):
            search.ended(told)
        else:
            search.confirmed(told)
