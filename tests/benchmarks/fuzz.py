"""Hostile input by the hundred thousand. Usage: python -m tests.benchmarks.fuzz [--cases N] [--seed S] [SURFACE...]

Each surface (`tests.benchmarks.fuzzing`) takes one piece of input that somebody else wrote: a candidate's frames, a
model's answer, the body of an HTTP answer, a program, a journal, an archive, a configuration. A case is made of
(surface, seed, number) alone, and fails when it raises what is not its named error, when what it read is false, when
it takes more than 2 s, or when its process grows by more than 200 MB. Cases run in processes of their own, a batch
each; one that dies is a failure of the case that it was at. Exit 1 when any case failed, with what repeats it.
"""

import argparse
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tests.benchmarks.fuzzing import SURFACES, Surface

BATCH = 500
MOST_S = 2.0
MOST_KB = 200 * 1024
HANGS_S = 30


@dataclass(slots=True, kw_only=True)
class Batch:
    """What a batch of cases came to. `failures` are (number, what was wrong)."""

    done: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest_s: float = 0.0
    grown_kb: int = 0
    endings: Counter[str] = field(default_factory=Counter)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Hostile input, many times over.")
    parser.add_argument("surfaces", nargs="*", choices=[*SURFACES, []], metavar="SURFACE", help=", ".join(SURFACES))
    parser.add_argument("--cases", type=int, default=100_000, help="over all surfaces, by their shares (100000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    chosen = {name: SURFACES[name] for name in options.surfaces or SURFACES}
    shares = sum(surface.share for surface in chosen.values())
    failed = 0
    for name, surface in chosen.items():
        failed += fuzzed(name, surface, seed=options.seed, cases=round(options.cases * surface.share / shares))
    print(f"{failed} failed" if failed else "nothing failed")
    return 1 if failed else 0


def fuzzed(name: str, surface: Surface, *, seed: int, cases: int) -> int:
    """Run the cases of one surface and print a row. Returns the number that failed."""
    began = time.monotonic()
    total = Batch()
    with tempfile.TemporaryDirectory() as folder:
        surface.prepare(Path(folder))
        first = 0
        while first < cases:
            batch = in_process(name, Path(folder), seed, first, min(BATCH, cases - first))
            total.done += batch.done
            total.failures += batch.failures
            total.slowest_s = max(total.slowest_s, batch.slowest_s)
            total.grown_kb = max(total.grown_kb, batch.grown_kb)
            total.endings += batch.endings
            first += batch.done
    endings = ", ".join(f"{count} {ending}" for ending, count in total.endings.most_common(6))
    print(
        f"{name:10} {total.done:7} cases in {time.monotonic() - began:4.0f} s: {len(total.failures)} failed; slowest "
        f"{total.slowest_s:.2f} s, at most {total.grown_kb / 1024:.0f} MB ({endings})",
        flush=True,
    )
    for number, wrong in total.failures[:10]:
        print(f"  {name} seed {seed} case {number}: {wrong}")
    return len(total.failures)


def in_process(name: str, folder: Path, seed: int, first: int, count: int) -> Batch:
    """Cases `first` to `first + count` in a process of their own, as far as it got."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_child, args=(theirs, name, folder, seed, first, count)
    )
    process.start()
    theirs.close()
    batch = Batch()
    try:
        while True:
            number, wrong, ending, seconds, grown = ours.recv()
            batch.done = number - first + 1
            batch.slowest_s, batch.grown_kb = max(batch.slowest_s, seconds), max(batch.grown_kb, grown)
            batch.endings[ending] += 1
            if wrong:
                batch.failures.append((number, wrong))
    except EOFError:
        process.join()
    if batch.done < count and not (batch.failures and batch.failures[-1][0] == first + batch.done - 1):
        batch.failures.append((first + batch.done, f"its process ended with {process.exitcode}"))
        batch.done += 1
    return batch


def _child(pipe: Connection, name: str, folder: Path, seed: int, first: int, count: int) -> None:
    surface = SURFACES[name]
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + count):
        signal.alarm(HANGS_S)
        wrong, began = "", time.perf_counter()
        try:
            ending = surface.case(random.Random(f"{name}:{seed}:{number}"), folder)
        except Exception as raised:  # noqa: BLE001  # boundary: whatever a case raises is what it is here to find
            ending = "failed"
            last = traceback.extract_tb(raised.__traceback__)[-1]
            wrong = f"{type(raised).__name__}: {raised!s:.200} ({last.filename}:{last.lineno})"
        seconds = time.perf_counter() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if not wrong and seconds > MOST_S:
            wrong = f"took {seconds:.1f} s"
        if not wrong and grown > MOST_KB:
            wrong = f"its process grew by {grown // 1024} MB"
        pipe.send((number, wrong, ending, seconds, grown))
        if grown > MOST_KB:
            return  # the next batch is a new process, so that no case is blamed for another's memory


if __name__ == "__main__":
    sys.exit(main())
