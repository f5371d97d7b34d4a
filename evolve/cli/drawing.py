"""Layout of tables and fields, for a terminal (by rich) and for anything else.

All texts that come in are untrusted; this module makes them harmless, and prints nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rich.table import Table as Drawn

from evaluator import untrusted
from evolve.review.table import Cell, Column, Fields, Fit, Table, Tone

STYLES = {Tone.PLAIN: "", Tone.STRONG: "bold", Tone.QUIET: "dim", Tone.GOOD: "green", Tone.BAD: "bold red"}
CELL_LIMIT = 120
FIELD_LIMIT = 4000
_ELASTIC_WIDTH = 16  # columns that shrink keep at least this, before spare ones are left out
_FOLD_WIDTH = 32  # a run's usual name fits
_FOLDED = (Fit.FOLD, Fit.TEXT)
_LEAST_WIDTHS = {Fit.CUT: _ELASTIC_WIDTH} | dict.fromkeys(_FOLDED, _FOLD_WIDTH)
_GAP = 2  # blanks between two columns


def table_lines(table: Table) -> list[str]:
    """A whole table as aligned lines."""
    lines = [line for row in _texts(table) for line in zip_longest(*(text.split("\n") for text in row), fillvalue="")]
    rows = [_titles(table), *lines]
    return aligned(rows, [column.number for column in table.columns])


def draw_table(table: Table, width: int) -> tuple[Drawn, int]:
    """A table for a terminal `width` columns wide, and its own width: larger only where it cannot be narrower."""
    from rich.cells import cell_len
    from rich.table import Table as Drawn
    from rich.text import Text

    titles, texts = _titles(table), _texts(table)
    shown = [[title, *(line for row in texts for line in row[i].split("\n"))] for i, title in enumerate(titles)]
    widths = [max(map(cell_len, lines)) for lines in shown]
    fitted = fitted_widths(table.columns, widths, width)
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 1), header_style="bold underline")
    for index, column_width in fitted.items():
        column = table.columns[index]
        drawn.add_column(
            Text(titles[index]),
            justify="right" if column.number else "left",
            no_wrap=column.fit not in _FOLDED,
            overflow="fold" if column.fit in _FOLDED else "ellipsis",
            width=column_width,
        )
    for row, line in zip(table.rows, texts, strict=True):
        drawn.add_row(*(Text(line[index], style=STYLES[row[index].tone]) for index in fitted))
    return drawn, sum(fitted.values()) + _GAP * len(fitted)


def field_lines(fields: Fields, indent: int = 0) -> list[str]:
    """Names and values as lines, the values aligned; line breaks in a value are kept and indented."""
    pairs = _cells(fields)
    width = max((len(name) for name, _ in pairs), default=0)
    lines = []
    for name, cell in pairs:
        first, *rest = _value(cell).split("\n")
        lines.append(f"{'':{indent}}{name:<{width + _GAP}}{first}".rstrip())
        lines += [f"{'':{indent + width + _GAP}}{line}".rstrip() for line in rest]
    return lines


def draw_fields(fields: Fields, indent: int = 0) -> Drawn:
    """Names and values for a terminal; a long value continues below its beginning."""
    from rich.table import Table as Drawn
    from rich.text import Text

    pairs = _cells(fields)
    grid = Drawn.grid(padding=(0, _GAP))
    grid.add_column(style=STYLES[Tone.QUIET], no_wrap=True, min_width=max((len(n) for n, _ in pairs), default=0))
    grid.add_column(overflow="fold")
    for name, cell in pairs:
        grid.add_row(f"{'':{indent}}{name}", Text(_value(cell), style=STYLES[cell.tone]))
    return grid


def bar(part: int, whole: int, width: int = 30) -> str:
    """A progress bar of `width` characters."""
    done = width * min(part, whole) // whole if whole else 0
    return "━" * done + "─" * (width - done)


def fitted_widths(columns: Sequence[Column], widths: Sequence[int], available: int) -> dict[int, int]:
    """The columns to draw with their widths, so that the table is at most `available` wide if possible.

    Spare columns without room are left out, from the right. Then the elastic ones share the rest, the narrow ones
    first; each has at least `_ELASTIC_WIDTH` or `_FOLD_WIDTH`, or its full width if that is less.
    """
    fitted = {index: min(_LEAST_WIDTHS.get(columns[index].fit, width), width) for index, width in enumerate(widths)}
    for index in reversed(range(len(columns))):
        if columns[index].fit is Fit.SPARE and _room(fitted, available) < 0:
            del fitted[index]
    elastic = sorted((i for i in fitted if fitted[i] < widths[i]), key=lambda i: widths[i])
    for done, index in enumerate(elastic):
        share = max(0, _room(fitted, available)) // (len(elastic) - done)
        fitted[index] = min(widths[index], fitted[index] + share)
    return fitted


def aligned(rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> list[str]:
    """Rows of harmless texts as lines with aligned columns, numbers at the right."""
    from rich.cells import cell_len

    widths = [max(cell_len(row[index]) for row in rows) for index in range(len(numbers))]
    lines = []
    for row in rows:
        cells = []
        for text, width, number in zip(row, widths, numbers, strict=True):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if number else text + blanks)
        lines.append((" " * _GAP).join(cells).rstrip())
    return lines


def _room(fitted: Mapping[int, int], available: int) -> int:
    return available - sum(fitted.values()) - _GAP * (len(fitted) - 1)


def _titles(table: Table) -> list[str]:
    return [untrusted.one_line(column.title, CELL_LIMIT) for column in table.columns]  # some are the names of metrics


def _texts(table: Table) -> list[list[str]]:
    """The cells, made harmless. Cells of whole sentences keep their line breaks."""

    def harmless(cell: Cell, column: Column) -> str:
        return _value(cell) if column.fit is Fit.TEXT else untrusted.one_line(cell.text, CELL_LIMIT)

    return [[harmless(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]


def _cells(fields: Fields) -> list[tuple[str, Cell]]:
    pairs = ((untrusted.one_line(name, CELL_LIMIT), cell) for name, cell in fields)
    return [(name, cell if isinstance(cell, Cell) else Cell(cell)) for name, cell in pairs]


def _value(cell: Cell) -> str:
    return untrusted.block(cell.text, FIELD_LIMIT).removesuffix("\n")
