"""Racing in a run (`search.racing`): what a program has to reach is fixed when its evaluation begins, which is stopped
once the program cannot reach it any more. How: `evaluator.racing`."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from evaluator.evaluation import Evaluation
from evaluator.racing import Race
from evolve.archive.view import ArchiveView
from evolve.config import Config
from evolve.errors import InputError
from evolve.seams import Evaluator, Racing, Search


def require_race(config: Config, evaluator: Evaluator, search: Search, *, begins: bool) -> None:
    """Raise InputError where a run begins that is to be raced and cannot be. One that goes on, under a judge that has
    changed since, is not raced any more: `search.*` is frozen, and no run shall end for that."""
    why = evaluator.why_no_race
    if not isinstance(search, Racing):
        why = f"the strategy {config.search.strategy!r} has no method `threshold` (see evolve/seams.py)"
    elif config.search.islands > 1:
        why = "an island that is begun anew has room for every program (search.islands)"
    if begins and config.search.racing and why is not None:
        raise InputError(f"search.racing is true, and evaluations of this run cannot be stopped: {why}")


def judging(
    source: str, evaluator: Evaluator, config: Config, search: Search, archive: ArchiveView
) -> Callable[[], Evaluation]:
    """How to evaluate a program from now on: raced, where programs are, against the last that the search lets in."""
    race = None
    if config.search.racing and isinstance(search, Racing) and evaluator.why_no_race is None:
        race = _race(search, archive)
    return partial(evaluator.evaluate, source) if race is None else partial(evaluator.race, source, race)


def _race(search: Racing, archive: ArchiveView) -> Race | None:
    """The race against the last program that the search lets in; None while it lets in every one."""
    last = search.threshold()
    if last is None or last.value is None:
        return None
    costs = [Fraction(cost) for cost in archive.costs(last) if cost is not None]
    return Race(threshold=last.combined_score, value=last.value, costs=tuple(costs))
