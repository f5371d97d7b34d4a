"""Screens that show a run while it goes on: a live panel on a terminal, plain lines anywhere else."""

import contextlib
import sys
import termios
import time
from collections.abc import Sequence
from typing import Any, Self, TextIO

from evaluator.evaluation import headline_of_error
from evaluator.untrusted import one_line
from evolve.archive.events import HeldOutEvent
from evolve.archive.records import ProgramRecord
from evolve.cli import drawing
from evolve.cli.interrupting import dropped_if_gone
from evolve.progress import (
    Adapted,
    Checking,
    Confirmed,
    Evaluated,
    Event,
    Failed,
    MachineFailed,
    Phase,
    Progress,
    ServerTrouble,
    Stopping,
    Summarised,
    TaskFailed,
    Warned,
    WorkerChanged,
)
from evolve.review.calls import paid_text, spending_text
from evolve.review.catalogue import model_lines
from evolve.review.scores import SELF_JUDGED, held_out_text, orders_text, score_text, spread_text, value_text
from evolve.review.table import Cell, Tone
from evolve.review.texts import counted, duration_text
from evolve.review.workers import changed_worker_text, workers_summary, workers_text

HEARTBEAT_S = 10.0
"""The longest silence of a run that prints plain lines."""
_WORKERS_SHOWN = 6
"""How many workers the panel names."""
_PHASES_SHOWN = 4
"""How many generations in the same phase the panel names."""


class PlainScreen:
    """One line for the initial program, for each new best and for each warning, and a heartbeat."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines = EventLines()
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def tell(self, event: Event, progress: Progress) -> None:
        """Print an event that has a line; others only move the heartbeat."""
        line = self._lines.line(event)
        if line is not None:
            rates = _rates(progress) if isinstance(event, Evaluated | Confirmed) else ""
            self._print(f"{line}  {rates}".rstrip(), progress)
        else:
            self.tick(progress)

    def tick(self, progress: Progress) -> None:
        """Print the heartbeat when it is due."""
        if time.monotonic() - self._last >= HEARTBEAT_S:
            longest = max(progress.phases, key=lambda phase: phase.since_s, default=None)
            under_way = f"  {_phases([longest], 1)}" if longest is not None else ""
            total = f"/{progress.generations}" if progress.generations else ""
            state = f"{progress.finished}{total} proposals  best {_best(progress)}"
            state += f"  workers: {workers_summary(progress.workers)}" if progress.workers else ""
            troubles = "".join(f"  {trouble_text(trouble)}" for trouble in progress.troubles)
            self._print(f"{state}{under_way}{troubles}  {_rates(progress)}".rstrip(), progress)

    def _print(self, text: str, progress: Progress) -> None:
        self._last = time.monotonic()
        print(f"[{duration_text(progress.elapsed_s):>6}] {text}", file=self._stream, flush=True)


class LiveScreen:
    """A panel that is redrawn in place; bests and warnings scroll by above it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title = title
        self._lines = EventLines()
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn = 0.0
        self._echo: list[Any] | None = None

    def __enter__(self) -> Self:
        self._echo = _hide_control_echo()
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with dropped_if_gone():
            self._live.stop()
        if self._echo is not None:
            with contextlib.suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._echo)

    def tell(self, event: Event, progress: Progress) -> None:
        """Print an event that has a line above the panel, and redraw."""
        from rich.text import Text

        line = self._lines.line(event)
        if line is not None:
            bad = isinstance(event, Warned | Failed | MachineFailed | ServerTrouble) or _failed(event)
            style = "bold red" if bad else "green"
            with dropped_if_gone():
                self._console.print(Text(f"[{duration_text(progress.elapsed_s):>6}] {line}", style=style))
        self.tick(progress)

    def tick(self, progress: Progress) -> None:
        """Redraw, at most ten times a second."""
        if time.monotonic() - self._drawn >= 0.1:
            self._drawn = time.monotonic()
            with dropped_if_gone():
                self._live.update(self._panel(progress), refresh=True)

    def _panel(self, progress: Progress) -> Any:
        from rich.panel import Panel
        from rich.text import Text

        return Panel(
            drawing.draw_fields(_panel_fields(progress)),
            title=Text(self._title),
            title_align="left",
            subtitle=Text("Ctrl-C stops; nothing is lost"),
            border_style="blue",
        )


def _panel_fields(progress: Progress) -> list[tuple[str, Cell | str]]:
    """The lines of the panel, by name."""
    funnel = progress.funnel
    done = f"{progress.finished}"
    if progress.generations:
        done += f" of {progress.generations}  {drawing.bar(progress.finished, progress.generations)}"
    left = "unknown" if progress.time_left_s is None else f"at most {duration_text(progress.time_left_s)}"
    return [
        ("proposals", f"{done} ended, {progress.in_flight} under way"),
        *([("under way", _phases(progress.phases, _PHASES_SHOWN))] if progress.phases else []),
        *((trouble_name(trouble), Cell(trouble_text(trouble), Tone.BAD)) for trouble in progress.troubles),
        ("best", Cell(_best(progress), Tone.STRONG)),
        (
            "answers",
            f"{funnel.answered}  applied {_percent(funnel.applied, funnel.answered)}  "
            f"new {_percent(funnel.new, funnel.answered)}  valid {_percent(funnel.correct, funnel.new)}  "
            f"improved {_percent(funnel.improved, funnel.new)}",
        ),
        *([("spent", spending_text(progress.spent))] if progress.spent else []),
        *([("models", model_lines(progress.models))] if len(progress.models) > 1 else []),
        *([("workers", workers_text(progress.workers, shown=_WORKERS_SHOWN))] if progress.workers else []),
        ("time", f"elapsed {duration_text(progress.elapsed_s)}, remaining {left}"),
    ]


def _phases(phases: Sequence[Phase], shown: int) -> str:
    """The generations in each phase, with their seconds: a line for each kind of phase, the longest first."""
    by_name: dict[str, list[Phase]] = {}
    for phase in sorted(phases, key=lambda phase: -phase.since_s):
        by_name.setdefault(phase.name, []).append(phase)
    lines = []
    for name, members in by_name.items():
        if members[0].generation is None:
            lines.append(f"writing the insights report ({duration_text(members[0].since_s)})")
            continue
        generations = ", ".join(f"{phase.generation} ({duration_text(phase.since_s)})" for phase in members[:shown])
        more = f" and {len(members) - shown} more" if len(members) > shown else ""
        lines.append(f"{name} {generations}{more}")
    return "\n".join(lines)


def _hide_control_echo() -> list[Any] | None:
    """Stop the terminal from writing ^C into the panel, which would move it down. Returns the settings before."""
    if not sys.stdin.isatty():
        return None
    before = termios.tcgetattr(sys.stdin)
    changed = list(before)
    changed[3] &= ~termios.ECHOCTL
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, changed)
    return before


def _failed(event: Event) -> bool:
    if not isinstance(event, Evaluated | Confirmed):
        return False
    return not event.record.correct or (event.held_out is not None and event.held_out.overfitted is not None)


class EventLines:
    """The events of a session as lines. The message of a failure is shown in full only once."""

    def __init__(self) -> None:
        self._failures: set[str] = set()

    def line(self, event: Event) -> str | None:
        """The line of an event; None for an event without one."""
        if isinstance(event, Evaluated | Confirmed):
            return _program_line(event)
        if isinstance(event, Failed):
            if event.message in self._failures:
                return f"generation {event.generation} got no answer, for the same reason"
            self._failures.add(event.message)
        return _event_line(event)


def trouble_name(trouble: ServerTrouble) -> str:
    """The panel's name for a server's trouble: it makes requests wait, or fails."""
    return "waiting" if trouble.reason in ("rate_limited", "silent") else "trouble"


def trouble_text(trouble: ServerTrouble) -> str:
    """A server's trouble in one line: `fake-8b: HTTP 429: Rate limit reached; next try in 14 s (4 requests wait)`."""
    text = f"{one_line(trouble.model, 60)}: {one_line(trouble.message, 200)}"
    if trouble.silent_s is not None:
        text += f" for {duration_text(trouble.silent_s)}"
        text += "" if trouble.gives_up_s is None else f", gives up at {duration_text(trouble.gives_up_s)}"
    if trouble.failed > 1:
        text += f", {trouble.failed} failed"
    if trouble.tries is not None:
        text += f", try {trouble.tries[0]} of {trouble.tries[1]}"
    if trouble.next_try_s is not None:
        text += f"; next try in {trouble.next_try_s:.0f} s"
    if trouble.waiting > 1:
        text += f" ({trouble.waiting} requests wait)"
    return text


def _event_line(event: Event) -> str | None:
    match event:
        case Warned(message=message):
            return f"WARNING  {one_line(message, 400)}"
        case Stopping(answers=answers, longest_s=longest_s):
            at_most = "" if longest_s is None else f" (at most {duration_text(longest_s)})"
            waiting = f"{counted(answers, 'model answer')}{at_most}" if answers else "evaluations under way"
            return f"stopping: waiting for {waiting}. Ctrl-C quits now; nothing is lost"
        case ServerTrouble():
            return trouble_text(event)
        case Checking():
            return checking_line(event)
        case Failed(generation=generation, message=message):
            return f"generation {generation} got no answer: {one_line(message, 300)}"
        case TaskFailed(message=message):
            return f"the task's own code failed: {one_line(message, 400)}"
        case MachineFailed(generation=generation, message=message):
            return f"generation {generation} is left to `resume`: {one_line(message, 400)}"
        case WorkerChanged(event=worker):
            return changed_worker_text(worker)
        case Adapted(changes=changes):
            adapted = ", ".join(f"{change.model}: {change}" for change in changes)
            return f"the endpoint rejected a parameter; adapted: {one_line(adapted, 300)}"
        case Summarised(programs=programs, problems=()):
            return f"insights report after {programs} programs"
        case Summarised(programs=programs, problems=problems):
            return f"no insights report after {programs} programs: {one_line(problems[0], 200)}"
        case _:
            return None


def _program_line(event: Evaluated | Confirmed) -> str | None:
    """The line of an event about a program: the initial one, a would-be best, or a quarantined one."""
    record = event.record
    generation, value = f"generation {record.generation}", value_text(record.value)
    score, held_out = f"{value}{score_suffix(record)}", held_out_suffix(event.held_out)
    if record.quarantine is not None:
        return f"QUARANTINED  {generation} scores {score}; do not trust this score: {one_line(record.quarantine, 300)}"
    if isinstance(event, Evaluated):
        if event.parent_score is not None:
            return None
        if not record.correct:
            reason = f"{record.outcome.value}: {one_line(headline_of_error(event.detail), 200)}"
            score = f"answers {100 * record.combined_score:.0f} % of the instances  ({reason})"
        return f"initial program  {score}{orders_suffix(record)}{held_out}"
    if event.held_out is not None and event.held_out.overfitted is not None:
        why = one_line(event.held_out.overfitted, 300)
        return f"OVERFITTED  {generation} scores {score}{held_out}, but {why}"
    if event.is_best:
        name = one_line(record.origin.patch_name, 60)
        return f"new best  {score}{orders_suffix(record)}{held_out}  {generation}: {name}"
    if record.correct:
        return f"{generation} scores {value}, but is not the best {orders_text(record)}"
    return f"{generation} would be the best ({value}), but is not: {one_line(event.detail, 300)}"


def checking_line(event: Checking) -> str:
    """The line for the beginning of a check of the best program, with its longest time."""
    at_most = "" if event.longest_s is None else f": takes at most {duration_text(event.longest_s)}"
    return f"checking generation {event.generation}, the best, {event.what}{at_most} (Ctrl-C ends it)"


def score_suffix(record: ProgramRecord) -> str:
    """The text behind every score: its gap to the ceiling, or its spread where a clock or chance is in it, and
    whether it is self-judged; empty without any."""
    judged = f"  {SELF_JUDGED}" if record.self_judged else ""
    if record.spread is not None:
        return f"  {spread_text(record)}{judged}" if record.correct else judged
    return judged if record.value_gap is None else f"  gap {score_text(record.value_gap)}{judged}"


def held_out_suffix(held_out: HeldOutEvent | None) -> str:
    """The text behind the score of a best program: its score on the held-out suite; empty without one."""
    return "" if held_out is None else f"  held-out {held_out_text(held_out)}"


def orders_suffix(record: ProgramRecord) -> str:
    """The text behind the score of a confirmed program: its range in other orders; empty without any."""
    return "" if record.confirmed is None else f"  {orders_text(record)}"


def _best(progress: Progress) -> str:
    best = progress.best
    if best is None:
        return "no correct program yet"
    score = f"{value_text(best.value)}{score_suffix(best)}{held_out_suffix(progress.held_out)}"
    score += "" if best.overfitted is None else "  OVERFITTED"
    return f"{score}   generation {best.generation}: {one_line(best.origin.patch_name, 50)}"


def _rates(progress: Progress) -> str:
    funnel = progress.funnel
    if not funnel.answered:
        return ""
    spent = f"; {paid_text(progress.spent)}" if progress.spent else ""
    left = "" if progress.time_left_s is None else f"; {duration_text(progress.time_left_s)} left"
    return (
        f"[applied {_percent(funnel.applied, funnel.answered)}, valid {_percent(funnel.correct, funnel.new)}, "
        f"improved {_percent(funnel.improved, funnel.new)}{spent}{left}]"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
