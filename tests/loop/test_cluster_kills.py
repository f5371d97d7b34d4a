"""Twenty random kills of workers, scheduler and head over a run of 300 programs: nothing is lost or doubled."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.cluster.local import LocalCluster
from tests.loop.climbing import configure, count, events, evolve, in_fork, kill, opened, patch, script
from tests.loop.clusters import address, fingerprint, hosted, true_score

PROGRAMS, KILLS = 300, 20

pytestmark = pytest.mark.nightly


def configured(folder: Path, chance: random.Random, parallel: int) -> str:
    """A run whose programs take some time to load; few are better than all before, so that few are confirmed."""
    folder.mkdir()
    steps = [_step(chance.randint(-30, 3), number) for number in range(PROGRAMS)]
    answers = [patch(step, name=f"step_{number}") for number, step in enumerate(steps)]
    return configure(folder, models=[script(folder, answers)], generations=PROGRAMS, parallel=parallel, attempts=1)


def _step(step: int, number: int) -> str:
    """A line of a program; those that lead nowhere take longer, as no other program is made of them."""
    work = "" if step > 0 else "; sum(i * i for i in range(2_000_000))"
    return f"OFFSET -= {step}{work}; NUMBER = {number}"


def resumed(folder: Path, cluster: LocalCluster, began: bool) -> Any:
    words = ("resume", "r", "--yes") if began else ("run", str(folder / "config.yaml"), "--name", "r")
    return in_fork(folder, *words, "--workers", address(cluster))


def strike(chance: random.Random, cluster: LocalCluster, head: Any) -> str:
    """Kill one process; which it was."""
    victim = chance.choice(["worker", "worker", "scheduler", "head"])
    if victim == "head":
        kill(head)
    else:
        processes = hosted(cluster) if victim == "worker" else list(cluster.processes()[:1])
        if processes:
            os.kill(chance.choice(processes), signal.SIGKILL)
    return victim


@pytest.mark.parametrize("parallel", [1, 4])
def test_nothing_is_lost_or_doubled_however_often_something_dies(tmp_path: Path, parallel: int) -> None:
    config = configured(tmp_path / "here", random.Random(1), parallel)
    evolve(tmp_path / "here", "run", config, "--name", "r", code=None)
    there, chance = tmp_path / "there", random.Random(2)
    configured(there, random.Random(1), parallel)
    struck: list[str] = []
    with LocalCluster(2) as cluster:
        head = resumed(there, cluster, began=False)
        until = time.monotonic() + 3000
        while time.monotonic() < until and count(there, "stopped", reason="generations") == 0:
            done = count(there, "evaluated")
            if len(struck) < KILLS and done > len(struck) * PROGRAMS // (KILLS + 2) + 5:
                struck.append(strike(chance, cluster, head))
            if not head.is_alive():
                head.join()
                head = resumed(there, cluster, began=True)
            time.sleep(0.2)
        head.join(60)
    assert len(struck) == KILLS
    journal = events(there)
    for name in ("answered", "evaluated"):
        generations = [event["generation"] for event in journal if event["event"] == name and event["generation"]]
        assert len(generations) == len(set(generations)) == PROGRAMS, name
    if parallel == 1:
        assert fingerprint(there) == fingerprint(tmp_path / "here")
    with opened(there) as archive:
        for program in archive.programs[1:]:
            again = true_score(archive.files(program).only)
            assert program.combined_score == pytest.approx(again)
