"""What `search.racing` would have saved of a run. Usage: python -m tests.benchmarks.racing RUN [ELITES ...]

RUN is the folder of a run. Its programs are taken in the order of the record; each is stopped where racing would have
stopped it, had the search kept so many elites. One that fails is evaluated once more in the suite's own order, as a
raced one is. The programs are those of the run, whatever it kept itself: with other elites others had been made.
"""

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from evaluator.evaluation import InstanceResult, exceeds
from evaluator.racing import Race, deciding_order, why_no_race
from evaluator.standing import Standing
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.archive.records import ProgramRecord
from evolve.search.select import admit

ELITES = (1, 2, 4, 8, 40)


def saved(archive: Archive, standing: Standing, size: int) -> tuple[float, float, int]:
    """CPU seconds of all programs, those to where racing would stop, and how many it would have stopped."""
    elites: tuple[ProgramRecord, ...] = ()
    whole = raced = 0.0
    stopped = 0
    for record in archive.programs:
        results = archive.evaluation(record).results
        cpu_s = sum(cpu_of(result) for result in results)
        whole += cpu_s
        if len(elites) < size:
            raced += cpu_s
        else:
            until, reached = to_the_stop(results, standing, archive, elites[-1])
            raced += until
            stopped += not reached
        elites = admit(elites, record, size=size)
    return whole, raced, stopped


def cpu_of(result: InstanceResult) -> float:
    return result.cpu_s or 0.0


def to_the_stop(
    results: Sequence[InstanceResult], standing: Standing, archive: Archive, last: ProgramRecord
) -> tuple[float, bool]:
    """CPU seconds until nothing further is asked, and whether all was asked, or an instance failed."""
    assert last.value is not None
    costs = tuple(Fraction(cost) for cost in archive.costs(last) if cost is not None)
    order = deciding_order(standing, Race(threshold=last.combined_score, value=last.value, costs=costs))
    known: dict[int, Fraction] = {}
    cpu_s = 0.0
    for result in sorted(results, key=lambda result: order.index(result.instance)):
        cpu_s += cpu_of(result)
        if result.cost is None:
            return cpu_s + sum(map(cpu_of, results)), True
        known[result.instance] = result.cost
        if exceeds(last.combined_score, standing.at_best(known).score):
            return cpu_s, False
    return cpu_s, True


def main(run: str, *sizes: str) -> None:
    archive = Archive.open(Path(run), write=False)
    task = load_task(str(archive.identity["task"]))
    suite = task.suite(str(archive.identity["suite"]))
    why = why_no_race(task, suite)
    if why is not None:
        raise SystemExit(why)
    standing = Standing(task, suite)
    for size in [int(word) for word in sizes] or ELITES:
        whole, raced, stopped = saved(archive, standing, size)
        print(
            f"{size:3d} elites: {stopped} of {len(archive.programs)} programs stopped, {raced:.1f} of {whole:.1f} s of "
            f"CPU: {whole / raced:.2f} times as many programs per CPU hour"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
