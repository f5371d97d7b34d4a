"""The one place that prints. Every text passes through `evaluator.untrusted` here.

On a terminal tables are drawn by rich, with colours unless NO_COLOR is set; anywhere else they are aligned columns
without escape sequences (see `evolve.cli.drawing`). Whole texts (a source, a patch) reach a file or a pipe byte for
byte.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from evaluator import untrusted
from evolve.cli import drawing
from evolve.review.table import Fields, Table, Tone

if TYPE_CHECKING:
    from rich.console import Console

_LINE_LIMIT = 2000  # characters of one shown line
_TEXT_LIMIT = 1024 * 1024
_CLEAR = "\r\x1b[K"  # clear the current line


def print_json(document: object) -> None:
    """Print `document` as JSON in ASCII, which every terminal and locale can show; NaN is a ValueError."""
    _safe(sys.stdout).write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def say(text: str = "", tone: Tone = Tone.PLAIN, *, whole: bool = False) -> None:
    """Print one line on stdout. A terminal breaks it between words, unless it must stay `whole` to be pasted."""
    _write_line(sys.stdout, text, tone, whole=whole)


def agreed(question: str) -> bool:
    """Ask the person at the terminal, and return whether the answer is yes; Ctrl-D means no."""
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        say()
        return False
    return answer.strip().lower() in ("y", "yes")


def complain(message: str, *, below: str = "") -> None:
    """Print one line on stderr, `evolve: <message>`, red on a terminal; then the lines of `below`, untrusted."""
    _write_line(sys.stderr, f"evolve: {message}", Tone.BAD, whole=True)
    if below:
        _safe(sys.stderr).write(f"{untrusted.block(below)}\n")


def show_warnings() -> None:
    """Print our own warnings as lines of this command; other warnings keep Python's form."""
    before = warnings.formatwarning

    def format_warning(message: Warning | str, category: type[Warning], *more: Any) -> str:
        if category.__module__.partition(".")[0] in ("evaluator", "evolve"):
            return f"evolve: {untrusted.one_line(str(message), _LINE_LIMIT)}\n"
        return before(message, category, *more)

    warnings.formatwarning = format_warning  # type: ignore[assignment] # it is called with a line, or without


def _write_line(stream: TextIO, text: str, tone: Tone, *, whole: bool) -> None:
    shown = untrusted.one_line(text, _LINE_LIMIT)
    if stream.isatty():
        from rich.text import Text

        _console(stream).print(Text(shown, style=drawing.STYLES[tone]), soft_wrap=whole)
    else:
        _safe(stream).write(f"{shown}\n")


def note(text: str, tone: Tone = Tone.PLAIN, *, whole: bool = False) -> None:
    """Print one line for a person: on stdout at a terminal, on stderr when stdout is a file or a pipe."""
    _write_line(sys.stdout if sys.stdout.isatty() else sys.stderr, text, tone, whole=whole)


def print_table(table: Table) -> None:
    """Print a table: drawn on a terminal, aligned columns elsewhere."""
    if not sys.stdout.isatty():
        _safe(sys.stdout).writelines(f"{line}\n" for line in drawing.table_lines(table))
        return
    console = _console(sys.stdout)
    drawn, width = drawing.draw_table(table, console.width)
    # Where the table cannot be as narrow as the terminal, the terminal breaks its lines, and nothing is cut.
    console.width = max(console.width, width)
    console.print(drawn)


def print_fields(fields: Fields, *, indent: int = 0) -> None:
    """Print names and values, the values aligned; line breaks in a value are kept and indented."""
    if sys.stdout.isatty():
        _console(sys.stdout).print(drawing.draw_fields(fields, indent))
    else:
        _safe(sys.stdout).writelines(f"{line}\n" for line in drawing.field_lines(fields, indent))


def print_commands(steps: Sequence[tuple[str, str]]) -> None:
    """Print command lines that can be pasted, with their meanings as comments."""
    rows = [(untrusted.one_line(line, _LINE_LIMIT), f"# {meaning}") for line, meaning in steps]
    lines = drawing.aligned(rows, (False, False))
    if sys.stdout.isatty() and max(map(len, lines)) + 2 > _console(sys.stdout).width:
        lines = ["  ".join(row) for row in rows]  # the terminal breaks fewer of them
    for line in lines:
        say(f"  {line}", whole=True)


def print_whole(text: str) -> None:
    """Print a whole text of a candidate or a model: escaped on a terminal, its exact bytes anywhere else."""
    if sys.stdout.isatty():
        shown = untrusted.block(text, _TEXT_LIMIT)
        _safe(sys.stdout).write(shown if shown.endswith("\n") else f"{shown}\n")
    else:
        # A pipe gets the recorded bytes; lone surrogates are written as they are.
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()


def print_diff(diff: str, *, exact: bool = True) -> None:
    """Print a unified diff: coloured and escaped on a terminal; elsewhere its exact bytes.

    With `exact` false it is escaped everywhere: a diff inside a longer report, which nobody will apply.
    """
    if not sys.stdout.isatty():
        if exact:
            print_whole(diff)
        else:
            _safe(sys.stdout).write(untrusted.block(diff, _TEXT_LIMIT))
        return
    from rich.text import Text

    console = _console(sys.stdout)
    for line in untrusted.block(diff, _TEXT_LIMIT).removesuffix("\n").split("\n"):
        console.print(Text(line, style=_diff_style(line)), soft_wrap=True)


def print_markdown(text: str) -> None:
    """Print a Markdown document: escaped on a terminal, with headings and emphasis; elsewhere its exact bytes.

    Only headings and bold text are drawn, since our documents have nothing else; other marks are printed as they are.
    """
    if not sys.stdout.isatty():
        print_whole(text)
        return
    from rich.text import Text

    console = _console(sys.stdout)
    for line in untrusted.block(text, _TEXT_LIMIT).removesuffix("\n").split("\n"):
        mark, _, title = line.partition(" ")
        if mark and not mark.strip("#"):
            console.print(Text(title, style="bold underline" if mark == "#" else "bold"))
            continue
        shown = Text()
        for index, part in enumerate(line.split("**")):
            shown.append(part, style="bold" if index % 2 else "")
        console.print(shown)


@contextmanager
def progress(what: str, total: int | None = None) -> "Iterator[ProgressLine]":
    """Show `what 3 of 5` on a terminal's stderr during a block, or `what ...` without a total; 0 is not known yet."""
    shown = ProgressLine(what, total, visible=sys.stderr.isatty() and total != 1)
    if total is None:
        shown.write()
    try:
        yield shown
    finally:
        shown.clear()


class ProgressLine:
    """The line of `progress`: `step` when one more is done, `working_on` when something else begins."""

    def __init__(self, what: str, total: int | None, *, visible: bool) -> None:
        self._what, self._total, self._visible, self._done = untrusted.one_line(what), total, visible, 0
        self._now = ""
        self._written = False

    def working_on(self, what: str) -> None:
        """Name the current work."""
        self._now = f", now {untrusted.one_line(what)}"
        self.write()

    def step(self) -> None:
        """Count one more as done."""
        self._done += 1
        self.write()

    def at(self, done: int, total: int) -> None:
        """Set the numbers."""
        self._done, self._total = done, total
        self.write()

    def clear(self) -> None:
        """Remove the line."""
        if self._written:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._written = False

    def write(self) -> None:
        """Write the line, where it is visible."""
        if self._visible:
            count = "..." if self._total is None else f"{self._done} of {self._total}{self._now}"
            sys.stderr.write(f"{_CLEAR if self._written else ''}{self._what} {count}")
            sys.stderr.flush()
            self._written = True


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=_safe(stream), highlight=False, markup=False, emoji=False)


def _safe(stream: Any) -> TextIO:
    """The stream, set to write an escape for a letter that its encoding lacks."""
    if hasattr(stream, "reconfigure") and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")
    return stream  # type: ignore[no-any-return]
