"""The progress of an experiment: the state of each of its runs, and all of them side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.apps.experiment.plan import PlannedRun
from evolve.archive.events import FreshState
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import RunReader
from evolve.archive.records import CONFIRMING
from evolve.review.grouping import JudgedTogether, grouped, read_run
from evolve.search.stopping import StopReason
from evolve.trust import stored_config

_LIMITS = (StopReason.GENERATIONS, StopReason.BUDGET)
_FOR_GOOD = (StopReason.PATIENCE, StopReason.CEILING, StopReason.UNCONFIRMED)
_CHECKED = (*CONFIRMING, FreshState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """The state of a planned run: whether it was begun, whether it is done, and why it last stopped."""

    run: PlannedRun
    begun: bool
    done: bool
    finished: str | None = None
    proposals: int = 0
    best: float | None = None


def standing(run: PlannedRun) -> RunStanding:
    """The state of one run. Raises ArchiveError if its folder is damaged or no run."""
    if not (run.folder / JOURNAL).is_file():
        return RunStanding(run=run, begun=False, done=False)
    with RunReader.open(run.folder) as archive:
        finished, best = archive.finished, archive.best
        config = stored_config(archive)
        same = (config.generations, config.budget_usd) == (run.config.generations, run.config.budget_usd)
        checked = archive.fresh_of_best in _CHECKED  # else resuming makes the check
        done = checked and not archive.unfinished() and (finished in _FOR_GOOD or (finished in _LIMITS and same))
        return RunStanding(
            run=run,
            begun=True,
            done=done,
            finished=finished,
            proposals=archive.ended - 1,
            best=None if best is None else best.value,
        )


def side_by_side(runs: Sequence[PlannedRun]) -> list[JudgedTogether]:
    """These runs, grouped by judge and configuration. Raises ArchiveError, or InputError for fewer than two."""
    read = []
    for run in runs:
        with RunReader.open(run.folder) as archive:
            read.append(read_run(run.folder.name, archive))
    return grouped(read)
