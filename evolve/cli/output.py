"""The one place that prints. Everything shown passes through `evaluator.untrusted` here, whoever wrote it.

On a terminal tables are drawn by rich, with colours unless NO_COLOR is set; anywhere else they are aligned
columns without any escape sequence. Whole texts (a source, a patch) reach a file or a pipe byte for byte.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from evaluator import untrusted
from evolve.review.table import Cell, Column, Fit, Table, Tone

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {Tone.PLAIN: "", Tone.STRONG: "bold", Tone.QUIET: "dim", Tone.GOOD: "green", Tone.BAD: "bold red"}
_LINE_LIMIT = 2000  # characters of one shown line
_CELL_LIMIT = 120
_ELASTIC_WIDTH = 16  # columns that give way keep at least this, before spare ones are left out
_TEXT_LIMIT = 1024 * 1024


def print_json(document: object) -> None:
    """`document` as JSON in plain ASCII, so that no terminal or locale can be upset; NaN is a ValueError."""
    _stdout().write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def say(text: str = "", tone: Tone = Tone.PLAIN) -> None:
    """One line on stdout."""
    shown = untrusted.one_line(text, _LINE_LIMIT)
    if _terminal(sys.stdout):
        from rich.text import Text

        _console(sys.stdout).print(Text(shown, style=_STYLES[tone]), soft_wrap=True)
    else:
        _stdout().write(f"{shown}\n")


def complain(message: str) -> None:
    """One line on stderr, `evolve: <message>`, red on a terminal."""
    shown = untrusted.one_line(f"evolve: {message}", _LINE_LIMIT)
    stream = _safe(sys.stderr)
    if _terminal(sys.stderr):
        from rich.text import Text

        _console(sys.stderr).print(Text(shown, style=_STYLES[Tone.BAD]), soft_wrap=True)
    else:
        stream.write(f"{shown}\n")


def note(text: str, tone: Tone = Tone.PLAIN) -> None:
    """One line for the reader alone: on stdout at a terminal, on stderr when stdout goes to a file or a program."""
    if _terminal(sys.stdout):
        say(text, tone)
    else:
        _safe(sys.stderr).write(f"{untrusted.one_line(text, _LINE_LIMIT)}\n")


def print_table(table: Table) -> None:
    """A table: drawn on a terminal, aligned columns elsewhere."""
    if _terminal(sys.stdout):
        _draw(table)
    else:
        rows = [[column.title for column in table.columns]]
        rows += [[untrusted.one_line(cell.text, _CELL_LIMIT) for cell in row] for row in table.rows]
        _stdout().writelines(f"{line}\n" for line in _aligned(rows, [c.number for c in table.columns]))


def print_fields(fields: Iterable[tuple[str, Cell | str]]) -> None:
    """Names with their values, the values one below the other; line breaks in a value are kept and indented."""
    pairs = [(name, cell if isinstance(cell, Cell) else Cell(cell)) for name, cell in fields]
    width = max((len(name) for name, _ in pairs), default=0)
    if _terminal(sys.stdout):
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style=_STYLES[Tone.QUIET], no_wrap=True, min_width=width)
        grid.add_column(overflow="fold")
        for name, cell in pairs:
            grid.add_row(name, Text(_field(cell.text), style=_STYLES[cell.tone]))
        _console(sys.stdout).print(grid)
        return
    for name, cell in pairs:
        lines = _field(cell.text).split("\n")
        _stdout().write(f"{name:<{width}}  {lines[0]}".rstrip() + "\n")
        _stdout().writelines(f"{'':<{width}}  {line}".rstrip() + "\n" for line in lines[1:])


def print_whole(text: str) -> None:
    """A whole text that a candidate or a model wrote: escaped on a terminal, its exact bytes anywhere else."""
    if _terminal(sys.stdout):
        shown = untrusted.block(text, _TEXT_LIMIT)
        _stdout().write(shown if shown.endswith("\n") else f"{shown}\n")
    else:
        # A pipe gets what was recorded; lone surrogates stand for bytes, or are written as they are.
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()


def print_diff(diff: str, *, exact: bool = True) -> None:
    """A unified diff: coloured and escaped on a terminal; elsewhere its exact bytes.

    With `exact` false it is escaped there too: a diff inside a longer report, which nobody will apply.
    """
    if not _terminal(sys.stdout):
        if exact:
            print_whole(diff)
        else:
            _stdout().write(untrusted.block(diff, _TEXT_LIMIT))
        return
    from rich.text import Text

    console = _console(sys.stdout)
    for line in untrusted.block(diff, _TEXT_LIMIT).removesuffix("\n").split("\n"):
        console.print(Text(line, style=_diff_style(line)), soft_wrap=True)


def print_markdown(text: str) -> None:
    """A Markdown document: escaped on a terminal, its headings and emphasis shown as such; elsewhere its exact bytes.

    Only what our documents are made of is drawn: whatever else a model wrote stands there as it is.
    """
    if not _terminal(sys.stdout):
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
def progress(what: str, total: int) -> "Iterator[_Progress]":
    """`what 3 of 5` on stderr while something lasts, when stderr is a terminal; nothing otherwise."""
    shown = _Progress(what, total, _terminal(sys.stderr) and total > 1)
    try:
        yield shown
    finally:
        shown.clear()


class _Progress:
    def __init__(self, what: str, total: int, visible: bool) -> None:
        self._what, self._total, self._visible, self._done = what, total, visible, 0

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._visible:
            sys.stderr.write(f"\r\x1b[K{self._what} {self._done} of {self._total}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._visible and self._done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _draw(table: Table) -> None:
    from rich.cells import cell_len
    from rich.table import Table as Drawn
    from rich.text import Text

    console = _console(sys.stdout)
    texts = [[untrusted.one_line(cell.text, _CELL_LIMIT) for cell in row] for row in table.rows]
    widths = [
        max(cell_len(text) for text in (column.title, *(row[index] for row in texts)))
        for index, column in enumerate(table.columns)
    ]
    fitted = fitted_widths(table.columns, widths, console.width)
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 1), header_style="bold underline")
    for index, width in fitted.items():
        column = table.columns[index]
        drawn.add_column(
            Text(column.title),
            justify="right" if column.number else "left",
            no_wrap=column.fit is not Fit.FOLD,
            overflow="fold" if column.fit is Fit.FOLD else "ellipsis",
            width=width,
        )
    for row, line in zip(table.rows, texts, strict=True):
        drawn.add_row(*(Text(line[index], style=_STYLES[row[index].tone]) for index in fitted))
    # Narrower than any table can be: the terminal breaks the lines, and nothing is lost.
    console.width = max(console.width, sum(fitted.values()) + 2 * len(fitted))
    console.print(drawn)


def fitted_widths(columns: Sequence[Column], widths: Sequence[int], available: int) -> dict[int, int]:
    """Which columns to draw, and how wide, so that the table takes at most `available` if that can be.

    As many spare columns as there is no room for are left out, from the right; then the elastic ones share what
    the others leave, the narrow ones first, each having at least `_ELASTIC_WIDTH` if it wants as much.
    """
    fitted = {
        index: min(_ELASTIC_WIDTH, width) if columns[index].fit in (Fit.CUT, Fit.FOLD) else width
        for index, width in enumerate(widths)
    }
    for index in reversed(range(len(columns))):
        if columns[index].fit is Fit.SPARE and _room(fitted, available) < 0:
            del fitted[index]
    elastic = sorted((i for i in fitted if fitted[i] < widths[i]), key=lambda i: widths[i])
    for done, index in enumerate(elastic):
        share = max(0, _room(fitted, available)) // (len(elastic) - done)
        fitted[index] = min(widths[index], fitted[index] + share)
    return fitted


def _room(fitted: Mapping[int, int], available: int) -> int:
    return available - sum(fitted.values()) - 2 * (len(fitted) - 1)


def _aligned(rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> list[str]:
    from rich.cells import cell_len

    widths = [max(cell_len(row[index]) for row in rows) for index in range(len(numbers))]
    lines = []
    for row in rows:
        cells = []
        for text, width, number in zip(row, widths, numbers, strict=True):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if number else text + blanks)
        lines.append("  ".join(cells).rstrip())
    return lines


def _field(text: str) -> str:
    return untrusted.block(text, 2 * _LINE_LIMIT).removesuffix("\n")


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=_safe(stream), highlight=False, markup=False, emoji=False)


def _stdout() -> TextIO:
    return _safe(sys.stdout)


def _safe(stream: Any) -> TextIO:
    """`stream`, which now writes what its encoding lacks as an escape instead of failing."""
    if hasattr(stream, "reconfigure") and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")
    return stream  # type: ignore[no-any-return]
