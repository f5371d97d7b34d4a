"""A session before the person's eyes: Ctrl-C, how it ended, and what to do next."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from evaluator.untrusted import one_line
from evolve.cli.live import LiveScreen, PlainScreen, against
from evolve.review.standing import score_text
from evolve.run.session import Session
from evolve.search.stopping import StopReason


@contextmanager
def _interruptible(interrupt: threading.Event) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) asks the loop to end; a second one ends at once. The record survives both."""

    def stop(number: int, frame: FrameType | None) -> None:
        if interrupt.is_set():
            raise KeyboardInterrupt
        interrupt.set()
        print(
            "\nStopping: waiting for answers under way (Ctrl-C again to leave at once; nothing is lost).",
            file=sys.stderr,
        )

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def conduct(session: Session) -> int:
    """Run a session before the person's eyes, and tell how it ended and what to do next. Returns the exit code."""
    archive, evaluator = session.archive, session.evaluator
    where = f"{session.task.name}/{evaluator.suite.name}"
    print(f"{'Resuming' if session.resumed else 'Evolving'} {where} in {archive.folder}")
    print("No model is named, so the offline proposer writes the patches: nothing is sent, nothing is spent.")
    config = session.config
    workers = f"{config.parallel} in flight on {config.workers} workers"
    print(f"Seed {config.seed}, {workers}, sandbox level {evaluator.sandbox}.")
    sys.stdout.flush()
    interrupt = threading.Event()
    screen: AbstractContextManager[PlainScreen | LiveScreen]
    screen = LiveScreen(f"evolve {where}") if sys.stdout.isatty() else PlainScreen(sys.stdout)
    with _interruptible(interrupt), screen as listener:
        reason = session.run(listener, interrupt)
    return _closing(session, reason)


def _closing(session: Session, reason: StopReason) -> int:
    archive, config = session.archive, session.config
    suite = session.evaluator.suite.name
    best = archive.best
    proposals = [record for record in archive.programs if record.generation > 0]
    why = {
        StopReason.CEILING: f"Solved: suite {suite} cannot be scored higher; every instance is at its proven optimum.",
        StopReason.GENERATIONS: f"Done: {config.generations} generations.",
        StopReason.MINUTES: f"Done: {config.minutes:g} minutes are over." if config.minutes else "",
        StopReason.PATIENCE: f"Done: no better program in the last {config.patience} proposals.",
        StopReason.INTERRUPTED: "Interrupted. All that was answered or scored is recorded.",
    }[reason]
    print(f"\n{why}")
    if best is None:
        print("  No program was correct.")
    else:
        start = archive.programs[0]
        print(
            f"  best      {score_text(best.combined_score)}{against(best)}  "
            f"(generation {best.generation}: {one_line(best.origin.patch_name, 60)}; the initial program: "
            f"{score_text(start.combined_score)})"
        )
    quarantined = [record for record in archive.programs if record.quarantine is not None]
    if quarantined:
        print(f"  WARNING   {len(quarantined)} programs are quarantined: the evaluator or the task has a hole")
    name = archive.folder
    print(f"  programs  {len(archive.programs)} in {len(archive.statuses)} generations\n  archive   {name}\n\nNext:")
    steps = []
    if reason is not StopReason.CEILING:
        more = (
            ""
            if reason in (StopReason.INTERRUPTED, StopReason.MINUTES)
            else f" --generations {2 * len(archive.statuses)}"
        )
        steps.append((f"evolve resume {name}{more}", "go on"))
    if best is not None:
        steps += [
            (f"evolve lineage {name} best", "how it came to be, step by step"),
            (f"evolve show {name} best --code", "the best program"),
            (f"evolve replay {name}", "score it again and compare"),
            (f"evolve export {name} best -o best.py", "take it with you"),
        ]
    else:
        steps.append((f"evolve list {name}", "what failed, and how"))
    width = max(len(command) for command, _ in steps)
    for command, meaning in steps:
        print(f"  {command:<{width}}   {meaning}")
    if reason is StopReason.INTERRUPTED:
        return 130
    if len(archive.statuses) > 1 and not any(record.correct for record in proposals):
        print("evolve: not one proposal succeeded", file=sys.stderr)
        return 1
    return 0
