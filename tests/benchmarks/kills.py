"""40 kills -9 at random moments, half of them of the process group. Usage: python -m tests.benchmarks.kills [SEED]

Ten each of: offline and scripted, one and four in flight. Runs are killed one to three times each, and resumed to
their end. With one in flight the fingerprint must be that of the uninterrupted run; with four, no answer on record may
be asked for again, no program lost or doubled, and every recorded choice must be found again at its position.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.loop.climbing import opened
from tests.loop.killing import Killed, kill_and_resume, offline, run_through, scripted

EACH = 5
"""Kills of the process, and of the group, of each of the four kinds of run."""


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    chance = random.Random(seed)
    total, wrong = 0, 0
    began = time.monotonic()
    for name, make, keys in (("offline", offline, {"task": "placement"}), ("scripted", scripted, {})):
        for parallel in (1, 4):
            with tempfile.TemporaryDirectory() as folder:
                config = make(Path(folder), parallel=parallel, **keys)
                whole, seconds = run_through(Path(folder), config)
            print(f"{name}, {parallel} in flight: uninterrupted {seconds[1]:.1f} s, fingerprint {whole[:12]}")
            for group in (False, True):
                left = EACH
                while left:
                    kills = min(left, chance.choice((1, 2, 3)))
                    with tempfile.TemporaryDirectory() as folder:
                        config = make(Path(folder), parallel=parallel, **keys)
                        killed = kill_and_resume(
                            Path(folder), config, kills=kills, group=group, seconds=seconds, chance=chance
                        )
                        if parallel == 1 and not killed.wrong and (found := fingerprint(Path(folder))) != whole:
                            killed.wrong.append(f"fingerprint {found[:12]}")
                    left, total, wrong = left - len(killed.kills), total + len(killed.kills), wrong + len(killed.wrong)
                    report(killed, "group" if group else "process")
    print(f"{total} kills in {time.monotonic() - began:.0f} s (seed {seed}): {wrong} wrong")
    return 1 if wrong else 0


def report(killed: Killed, victim: str) -> None:
    moments = ", ".join(f"{moment:.2f} s ({events} events)" for moment, events in killed.kills)
    outcome = "nothing wrong" if not killed.wrong else "WRONG: " + "; ".join(killed.wrong)
    print(f"  {victim} killed after {moments or '-'}: {killed.choices} choices, {killed.lost} lost, {outcome}")


def fingerprint(folder: Path) -> str:
    with opened(folder) as archive:
        return archive.fingerprint()


if __name__ == "__main__":
    sys.exit(main())
