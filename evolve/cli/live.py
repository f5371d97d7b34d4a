"""What a person sees while a run goes on: a live panel on a terminal, plain lines anywhere else."""

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
    Phase,
    Progress,
    ServerTrouble,
    Stopping,
    Summarised,
    TaskFailed,
    Warned,
)
from evolve.review.calls import paid_text, spending_text
from evolve.review.catalogue import model_lines
from evolve.review.scores import SELF_JUDGED, held_out_text, orders_text, score_text, spread_text, value_text
from evolve.review.table import Cell, Tone
from evolve.review.texts import counted, duration_text

HEARTBEAT_S = 10.0
"""How long a run that prints plain lines may be silent."""
_A_MOMENT = "waiting a moment for evaluations"
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
        """Print what matters; count the rest."""
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
            of = f"/{progress.generations}" if progress.generations else ""
            stands = f"generation {progress.finished}{of}  best {_best(progress)}"
            troubles = "".join(f"  {trouble_text(trouble)}" for trouble in progress.troubles)
            self._print(f"{stands}{under_way}{troubles}  {_rates(progress)}".rstrip(), progress)

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
        """Scroll what matters by, and redraw."""
        from rich.text import Text

        line = self._lines.line(event)
        if line is not None:
            bad = isinstance(event, Warned | Failed | ServerTrouble) or _failed(event)
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
    """What the panel shows, line by line."""
    tally = progress.funnel
    done = f"{progress.finished}"
    if progress.generations:
        done += f" of {progress.generations}  {drawing.bar(progress.finished, progress.generations)}"
    left = "unknown" if progress.time_left_s is None else f"at most {duration_text(progress.time_left_s)}"
    return [
        ("generation", f"{done}  {progress.in_flight} in flight"),
        *([("under way", _phases(progress.phases, _PHASES_SHOWN))] if progress.phases else []),
        *((trouble_name(trouble), Cell(trouble_text(trouble), Tone.BAD)) for trouble in progress.troubles),
        ("best", Cell(_best(progress), Tone.STRONG)),
        (
            "answers",
            f"{tally.answered}  applied {_percent(tally.applied, tally.answered)}  "
            f"new {_percent(tally.new, tally.answered)}  valid {_percent(tally.correct, tally.new)}  "
            f"improved {_percent(tally.improved, tally.new)}",
        ),
        *([("spent", spending_text(progress.spent))] if progress.spent else []),
        *([("models", model_lines(progress.models))] if len(progress.models) > 1 else []),
        ("time", f"{duration_text(progress.elapsed_s)} gone, {left} left"),
    ]


def _phases(phases: Sequence[Phase], shown: int) -> str:
    """Which generation is doing what, and for how long: a line for each kind of phase, the longest first."""
    by_name: dict[str, list[Phase]] = {}
    for phase in sorted(phases, key=lambda phase: -phase.since_s):
        by_name.setdefault(phase.name, []).append(phase)
    lines = []
    for name, those in by_name.items():
        if those[0].generation is None:
            lines.append(f"writing the insights report ({duration_text(those[0].since_s)})")
            continue
        told = ", ".join(f"{phase.generation} ({duration_text(phase.since_s)})" for phase in those[:shown])
        more = f" and {len(those) - shown} more" if len(those) > shown else ""
        lines.append(f"{name} {told}{more}")
    return "\n".join(lines)


def _hide_control_echo() -> list[Any] | None:
    """Stop the terminal from writing ^C into the panel, which would be redrawn a line too low. Returns what was set."""
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
    """The events of a session as lines. What a model failed with is said in full once."""

    def __init__(self) -> None:
        self._failed: set[str] = set()

    def line(self, event: Event) -> str | None:
        """What is worth a line of its own, or None."""
        if isinstance(event, Failed):
            if event.message in self._failed:
                return f"generation {event.generation} got no answer, for the same reason"
            self._failed.add(event.message)
        return _event_line(event)


def trouble_name(trouble: ServerTrouble) -> str:
    """The panel's name of a server's trouble: it asks for less, or fails."""
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
    """What is worth a line of its own, or None."""
    match event:
        case Warned(message=message):
            return f"WARNING  {one_line(message, 400)}"
        case Stopping(answers=answers, longest_s=longest_s):
            at_most = "" if longest_s is None else f", {duration_text(longest_s)} at most"
            waiting = f"waiting for {counted(answers, 'answer')} on the way{at_most}" if answers else _A_MOMENT
            return f"stopping: {waiting}. Ctrl-C again leaves at once; nothing is lost"
        case ServerTrouble():
            return trouble_text(event)
        case Checking():
            return checking_line(event)
        case Failed(generation=generation, message=message):
            return f"generation {generation} got no answer: {one_line(message, 300)}"
        case TaskFailed(message=message):
            return f"the task's own code failed: {one_line(message, 400)}"
        case Adapted(changes=changes):
            what = ", ".join(f"{change.model}: {change}" for change in changes)
            return f"asked otherwise from now on, as the endpoint wants it: {one_line(what, 300)}"
        case Summarised(programs=programs, problems=()):
            return f"insights report after {programs} programs"
        case Summarised(programs=programs, problems=problems):
            return f"no insights report after {programs} programs: {one_line(problems[0], 200)}"
        case Evaluated(record=record) | Confirmed(record=record) if record.quarantine is not None:
            score = f"{value_text(record.value)}{against(record)}"
            why = one_line(record.quarantine, 300)
            return f"QUARANTINED  generation {record.generation} scores {score}, which is not to be believed: {why}"
        case Evaluated(record=record, parent_score=None, detail=detail):
            score = f"{value_text(record.value)}{against(record)}"
            if not record.correct:
                answered = f"answers {100 * record.combined_score:.0f} % of the instances"
                score = f"{answered}  ({record.outcome.value}: {one_line(headline_of_error(detail), 200)})"
            return f"initial program  {score}{in_orders(record)}{beside(event.held_out)}"
        case Confirmed(record=record, held_out=HeldOutEvent(overfitted=str(why))):
            score = f"{value_text(record.value)}{against(record)}{beside(event.held_out)}"
            return f"OVERFITTED OR LOOKED UP  generation {record.generation} scores {score}, but {one_line(why, 300)}"
        case Confirmed(record=record, is_best=True):
            name = one_line(record.origin.patch_name, 60)
            where = f"generation {record.generation}: {name}"
            score = f"{value_text(record.value)}{against(record)}{in_orders(record)}"
            return f"new best  {score}{beside(event.held_out)}  {where}"
        case Confirmed(record=record) if record.correct:
            score = value_text(record.value)
            return f"generation {record.generation} scores {score}, but is not the best {orders_text(record)}"
        case Confirmed(record=record, detail=detail):
            score = value_text(record.value)
            return f"generation {record.generation} would be the best ({score}), but is not: {one_line(detail, 300)}"
        case _:
            return None


def checking_line(event: Checking) -> str:
    """That a check of the best program begins, and how long it may take."""
    where = f"checking generation {event.generation}, the best, {event.what}"
    return f"{where}: at most {duration_text(event.longest_s)} at the suite's limits (Ctrl-C ends it)"


def against(record: ProgramRecord) -> str:
    """Where a score stands below its ceiling, or its spread where a clock or chance is in it, and that it is
    self-judged, as it is shown behind every score; empty without any."""
    whose = f"  {SELF_JUDGED}" if record.self_judged else ""
    if record.spread is not None:
        return f"  {spread_text(record)}{whose}" if record.correct else whose
    return whose if record.value_gap is None else f"  gap {score_text(record.value_gap)}{whose}"


def beside(held_out: HeldOutEvent | None) -> str:
    """What is shown behind the score of a best program: its score on the held-out suite; empty without one."""
    return "" if held_out is None else f"  held-out {held_out_text(held_out)}"


def in_orders(record: ProgramRecord) -> str:
    """What is shown behind the score of a confirmed program: its range in other orders; empty without any."""
    return "" if record.confirmed is None else f"  {orders_text(record)}"


def _best(progress: Progress) -> str:
    best = progress.best
    if best is None:
        return "none is correct so far"
    name = one_line(best.origin.patch_name, 50)
    score = f"{value_text(best.value)}{against(best)}{beside(progress.held_out)}"
    score += "" if best.overfitted is None else "  OVERFITTED OR LOOKED UP"
    return f"{score}   generation {best.generation}: {name}"


def _rates(progress: Progress) -> str:
    tally = progress.funnel
    if not tally.answered:
        return ""
    spent = f"; {paid_text(progress.spent)}" if progress.spent else ""
    left = "" if progress.time_left_s is None else f"; {duration_text(progress.time_left_s)} left"
    return (
        f"[applied {_percent(tally.applied, tally.answered)}, valid {_percent(tally.correct, tally.new)}, "
        f"improved {_percent(tally.improved, tally.new)}{spent}{left}]"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
