"""A run with islands, killed: what was copied stands in the record once, wherever it was cut off."""

import random
import shutil
from pathlib import Path

from tests.run.by_hand import begun, taken_up
from tests.run.climbing import configure, count, events, evolve, opened
from tests.run.killing import kill_and_resume, run_through

SEARCH = {"elites": 4, "islands": 3, "migrate_every": 2}


def offline(folder: Path, *, generations: int) -> str:
    folder.mkdir()
    return configure(folder, generations=generations, search=SEARCH)


def copies(folder: Path) -> list[tuple[int, int, int, bool]]:
    keys = ("generation", "from", "to", "reset")
    return [tuple(event[key] for key in keys) for event in events(folder) if event["event"] == "migrated"]  # type: ignore[misc]


def test_a_killed_run_with_islands_is_the_same_run(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    wanted, seconds = run_through(whole, offline(whole, generations=16))
    assert any(reset for *_, reset in copies(whole)) and not all(reset for *_, reset in copies(whole))
    config = offline(killed, generations=16)
    found = kill_and_resume(killed, config, kills=2, group=True, seconds=seconds, chance=random.Random("islands"))
    assert found.wrong == []
    assert copies(killed) == copies(whole)
    with opened(killed) as archive:
        assert archive.fingerprint() == wanted
    generation, _, to, _ = copies(whole)[0]
    asked = [event for event in events(whole) if event["event"] == "asked"]
    assert all(event["island"] == (event["generation"] - 1) % 3 for event in asked)
    assert f"; copied to {to}" in evolve(whole, "show", "r", str(generation)).stdout


def test_cut_off_at_any_line_around_a_copy_what_is_missing_is_written_once(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    config = offline(whole, generations=10)
    with begun(whole / "runs" / "r", config) as run:
        run.go()
        wanted = run.archive.fingerprint()
    found = copies(whole)
    names = [event["event"] for event in events(whole)]
    last = len(names) - names[::-1].index("migrated")
    cuts = {at for at in range(last - 4, last + 1) if "migrated" in names[at - 1 : at + 1]}
    assert len(cuts) >= 2
    for lines in cuts:
        cut = tmp_path / f"cut-{lines}"
        shutil.copytree(whole, cut)
        journal = cut / "runs" / "r" / "journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
        with taken_up(cut / "runs" / "r", config) as run:
            run.go()
            assert run.archive.fingerprint() == wanted
        assert copies(cut) == found
        assert count(cut, "migrated") == len(found)
