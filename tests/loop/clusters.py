"""A run on a cluster: its fingerprint and scores, and the workers that joined, with their processes."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evolve.cluster.engine import SchedulerClient
from evolve.cluster.local import LocalCluster
from tests.loop.climbing import opened


def fingerprint(folder: Path) -> str:
    with opened(folder) as archive:
        return archive.fingerprint()


def address(cluster: LocalCluster) -> str:
    return cluster.address.replace("tcp://", "dask://")


def wait_for_workers(scheduler: str, number: int) -> None:
    """Wait until that number of workers has joined the scheduler."""

    async def joined() -> None:
        async with await SchedulerClient.open(scheduler) as client:
            while len(await client.workers()) < number:
                await asyncio.sleep(0.02)

    with ThreadPoolExecutor(1) as thread:  # a test of pages leaves an event loop in the one that calls
        thread.submit(asyncio.run, asyncio.wait_for(joined(), 60)).result()


def hosted(cluster: LocalCluster) -> list[int]:
    """The processes of the workers."""
    lists = [f"/proc/{process}/task/{process}/children" for process in cluster.processes()[1:]]
    return [int(word) for path in lists for word in Path(path).read_text().split()]


def true_score(source: str) -> float:
    """The score of a program of the task, as its judge has it."""
    names: dict[str, Any] = {}
    exec(source, names)
    return 1 + 100 / (4 + abs(names["guess"](0)) / 10)
