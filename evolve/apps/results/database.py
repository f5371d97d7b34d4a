"""Reads the table of programs in an SQLite database that anybody may have made.

The database and its write-ahead log are copied to a private folder first, so that SQLite writes nothing next to the
original. A rollback journal is not copied: it can name another file, which SQLite would delete.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evolve.apps.results.reading import MAX_DOCUMENT, MAX_PROGRAMS, FolderReader
from evolve.archive.disk import open_regular_file
from evolve.core.errors import ArchiveError

MAX_DATABASE: Final = 256 * 1024 * 1024
"""Bytes of a database, and of its write-ahead log."""
MAX_STEPS: Final = 200_000_000
"""Instructions of SQLite's virtual machine for one reading; an honest table takes a few hundred for each row."""
_STEPS_AT_ONCE: Final = 100_000
_CHUNK: Final = 1024 * 1024
_COLUMNS: Final = (
    *("id", "code", "parent_id", "archive_inspiration_ids", "top_k_inspiration_ids", "generation", "timestamp"),
    *("combined_score", "public_metrics", "private_metrics", "correct", "island_idx", "metadata"),
)


def read_programs(reader: FolderReader, path: Path) -> list[Mapping[str, Any]]:
    """The rows of the table `programs`, each with the columns that it has; whatever could not be read is a note."""
    if not os.path.lexists(path):
        return []
    rows: list[Mapping[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="evolve-results-") as private:
        copy = Path(private) / "programs.sqlite"
        try:
            _copy(path, copy)
            _copy(path.with_name(f"{path.name}-wal"), copy.with_name(f"{copy.name}-wal"), missing_ok=True)
            if os.path.lexists(path.with_name(f"{path.name}-journal")):
                reader.note(f"{path}: an unfinished change lies next to it (-journal); it was not undone")
            left = 2 * sum(file.stat().st_size for file in Path(private).iterdir())
            with contextlib.closing(_connect(copy)) as connection:
                for row in _rows(connection):
                    if len(rows) == MAX_PROGRAMS:
                        reader.note(f"{path}: holds more than {MAX_PROGRAMS} programs; the others were not read")
                        break
                    # Forged rows can share their pages. Twice: a column's default value is not stored in each row.
                    left -= sum(len(cell) for cell in row.values() if isinstance(cell, str | bytes))
                    if left < 0:
                        raise sqlite3.DatabaseError("its rows hold more than its files can")
                    rows.append(row)
        except (ArchiveError, OSError) as cause:
            reader.note(str(cause))
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError) as cause:
            reader.note(f"{path}: is damaged or no database ({one_line(str(cause))}); {len(rows)} programs were read")
    return rows


def _copy(path: Path, copy: Path, *, missing_ok: bool = False) -> None:
    """Copy a regular file of at most MAX_DATABASE bytes. Raises ArchiveError, OSError."""
    try:
        descriptor = open_regular_file(path)
    except FileNotFoundError:
        if missing_ok:
            return
        raise
    with os.fdopen(descriptor, "rb") as source, copy.open("xb") as target:
        left = MAX_DATABASE if os.fstat(descriptor).st_size <= MAX_DATABASE else 0
        while left and (chunk := source.read(min(_CHUNK, left))):
            left -= len(chunk)
            target.write(chunk)
    if not left:
        raise ArchiveError(f"{path}: has {MAX_DATABASE} bytes or more; it was not read")


def _connect(path: Path) -> sqlite3.Connection:
    """A connection to our own copy that trusts nothing in its schema and ends a reading that would not end."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    steps = 0

    def too_long() -> bool:
        nonlocal steps
        steps += _STEPS_AT_ONCE
        return steps > MAX_STEPS

    connection.set_progress_handler(too_long, _STEPS_AT_ONCE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DATABASE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "query_only=ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.set_authorizer(_is_allowed)
    return connection


def _is_allowed(action: int, name: str | None, function: str | None, database: str | None, view: str | None) -> int:
    """SQLite's answer to a step of a statement: only stored columns are read, and nothing that a view says. A schema
    can be forged so that a view stands under the name of a table."""
    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_PRAGMA)
    allowed = view is None and (reads or (action == sqlite3.SQLITE_FUNCTION and function == "length"))
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _rows(connection: sqlite3.Connection) -> Iterator[Mapping[str, Any]]:
    """The rows of the table. A view or a virtual table of that name runs what its maker wrote: it is not read, nor are
    computed columns."""
    stored = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'programs' AND rootpage > 0"
    if connection.execute(stored).fetchone() is None:
        raise sqlite3.DatabaseError("it has no table of programs")
    described = connection.execute("PRAGMA table_xinfo(programs)").fetchall()
    plain = {name for _, name, _, _, _, _, hidden in described if hidden == 0}
    columns = [name for name in _COLUMNS if name in plain]
    if not {"id", "code"} <= plain:
        raise sqlite3.DatabaseError("its table of programs has no columns `id` and `code`")
    taken = ", ".join(
        f"CASE WHEN length(CAST({name} AS BLOB)) <= {MAX_DOCUMENT} THEN {name} END AS {name}" for name in columns
    )
    for row in connection.execute(f"SELECT {taken} FROM main.programs"):
        yield dict(zip(columns, row, strict=True))
