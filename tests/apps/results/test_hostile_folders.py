"""A hostile result folder does no harm: nothing outside is read or written, nothing is run, nothing waits."""

from pathlib import Path

import pytest

from evolve.apps.results.database import read_programs
from evolve.apps.results.folder import read_results
from evolve.apps.results.reading import FolderReader
from evolve.core.errors import InputError
from tests.apps.results.hostile_folders import HOSTILE, SECRET, database, everything_in


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_does_no_harm(tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "results", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.py").write_text(f"{SECRET} = 1\n")
    (outside / "secret.json").write_text(f'{{"id": "{SECRET}", "code": "{SECRET}", "combined_score": 4711.0}}')
    HOSTILE[name](folder, outside)
    before = everything_in(tmp_path)
    try:
        results = read_results(folder)
    except InputError as refused:
        assert str(folder) in str(refused)
        assert "\n" not in str(refused)
    else:
        assert len({program.id for program in results.programs}) == len(results.programs) > 0
        assert SECRET not in repr(results)
        assert all(program.claimed.score != 4711.0 for program in results.programs)
        for note in [*results.notes, *(note for program in results.programs for note in program.claimed.notes)]:
            assert note.isprintable()
    assert everything_in(tmp_path) == before


def test_there_are_fifty_hostile_folders() -> None:
    assert len(HOSTILE) >= 50


def test_rows_that_share_their_pages_are_not_all_read(tmp_path: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
    others = f"INSERT INTO programs {many} SELECT 'other', hex(zeroblob(300)) FROM n"
    first = "INSERT INTO programs VALUES ('first', hex(zeroblob(501363)))"  # of this size, few bytes are in its cell
    path = database(tmp_path, "CREATE TABLE programs (id TEXT, code TEXT)", first, others)
    path.write_bytes(_with_shared_pages(path.read_bytes(), 489 + 4))

    reader = FolderReader(tmp_path)
    rows = read_programs(reader, path)

    sizes = [len(row["code"]) for row in rows]
    assert sizes[:2] == [1_002_726] * 2  # the second row is the first one again
    assert sum(sizes) <= 2 * path.stat().st_size
    assert "hold more than its files can" in reader.notes[0]


def _with_shared_pages(content: bytes, stored: int) -> bytes:
    """A database in which each row has the size, the beginning (`stored` bytes) and the further pages of the first."""
    data, page = bytearray(content), int.from_bytes(content[16:18], "big")
    first: tuple[bytes, bytes] | None = None
    for base in range(page, len(data), page):
        count = int.from_bytes(data[base + 3 : base + 5], "big") if data[base] == 0x0D else 0  # a leaf of a table
        for place in range(base + 8, base + 8 + 2 * count, 2):
            cell = base + int.from_bytes(data[place : place + 2], "big")
            number = _after_varint(data, cell)
            rest = _after_varint(data, number)
            first = first or (bytes(data[cell:number]), bytes(data[rest : rest + stored]))
            new = first[0] + bytes(data[number:rest]) + first[1]
            data[cell : cell + len(new)] = new
    return bytes(data)


def _after_varint(data: bytes | bytearray, start: int) -> int:
    return next(place for place in range(start, start + 9) if data[place] < 0x80) + 1
