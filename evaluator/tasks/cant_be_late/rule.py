"""The rule of the job: what an answer does to it in one tick, and what it costs. Integers only.

A tick is 10 minutes. A machine is started by asking for it while it does not run. A start takes `overhead` ticks, paid
like all others, before work goes on. Going on with the machine that runs takes no overhead.
"""

from dataclasses import dataclass
from typing import Final

SPOT: Final = "spot"
ON_DEMAND: Final = "on_demand"
WAIT: Final = "wait"
ANSWERS: Final = (SPOT, ON_DEMAND, WAIT)
PRICES: Final = {SPOT: 1, ON_DEMAND: 3}
"""What a tick of a machine costs, whether it works or starts."""


@dataclass(frozen=True, slots=True)
class CloudJob:
    """A job at the beginning of a tick: ticks of work left, what runs (None: nothing), and for how many ticks more it
    is still starting; `cost` is paid for the ticks before."""

    work_left: int
    running: str | None = None
    starting: int = 0
    cost: int = 0


def at_tick(job: CloudJob, spot: bool) -> CloudJob:
    """The job as a tick finds it: a spot machine is gone where spot is not there."""
    if job.running == SPOT and not spot:
        return CloudJob(work_left=job.work_left, cost=job.cost)
    return job


def machine(answer: str, spot: bool) -> str | None:
    """The machine of a tick: none for `wait`, nor for `spot` where spot is not there."""
    return None if answer == WAIT or (answer == SPOT and not spot) else answer


def after(job: CloudJob, used: str | None, overhead: int) -> CloudJob:
    """The job after a tick on `used`, a machine that is there (None: none)."""
    if used is None:
        return CloudJob(work_left=job.work_left, cost=job.cost)
    starting = job.starting if job.running == used else overhead
    works = starting == 0
    return CloudJob(
        work_left=job.work_left - works,
        running=used,
        starting=max(0, starting - 1),
        cost=job.cost + PRICES[used],
    )


def least_ticks(job: CloudJob, overhead: int) -> int:
    """In how many ticks on-demand ends the job for certain."""
    return job.work_left + (job.starting if job.running == ON_DEMAND else overhead)
