"""A run with islands, killed: it is the same run, wherever it was cut off, and no copy stands in the record."""

import random
import shutil
from pathlib import Path

import pytest

from tests.loop.by_hand import begun, taken_up
from tests.loop.climbing import configure, events, opened
from tests.loop.killing import kill_and_resume, run_through

SEARCH = {"strategy": "islands", "elites": 4, "islands": 3, "migrate_every": 2}


def offline(folder: Path, *, generations: int) -> str:
    folder.mkdir()
    return configure(folder, generations=generations, search=SEARCH)


@pytest.mark.parametrize("kills", [pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.nightly)])
def test_a_killed_run_with_islands_is_the_same_run(tmp_path: Path, kills: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    wanted, seconds = run_through(whole, offline(whole, generations=16))
    config = offline(killed, generations=16)
    found = kill_and_resume(killed, config, kills=kills, group=True, seconds=seconds, chance=random.Random("islands"))
    assert found.wrong == []
    with opened(killed) as archive:
        assert archive.fingerprint() == wanted
        home = {record.commit: record.island for record in archive.programs}
    asked = [event for event in events(whole) if event["event"] == "asked"]
    assert all(event["island"] == (event["generation"] - 1) % 3 for event in asked)
    moved = [event for event in asked if event["generation"] > 3 and home[event["parents"][0]] != event["island"]]
    assert any(event["parents"][0] != asked[0]["parents"][0] for event in moved), "some parent is a copy"


def test_cut_off_at_any_line_around_a_migration_it_goes_on_as_it_would_have(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    config = offline(whole, generations=10)
    with begun(whole / "runs" / "r", config) as run:
        run.go()
        wanted = run.archive.reader.fingerprint()
    ends = [at for at, event in enumerate(events(whole), 1) if event["event"] in ("evaluated", "refused")]
    for lines in {at + step for at in ends[6:9] for step in (-1, 0)}:
        cut = tmp_path / f"cut-{lines}"
        shutil.copytree(whole, cut)
        journal = cut / "runs" / "r" / "journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
        with taken_up(cut / "runs" / "r", config) as run:
            run.go()
            assert run.archive.reader.fingerprint() == wanted
