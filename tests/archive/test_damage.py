"""What is wrong with a folder, a file or the disk is said in one sentence, and nothing is made worse."""

import itertools
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.errors import ArchiveError, MachineError
from tests.archive.small_run import (
    IDENTITY,
    answer,
    ask,
    evolve_on,
    git,
    in_fork,
    record,
    unpack,
    write_until_the_disk_is_full,
)
from tests.journals import rewrite


def _edit(run: Path, line: int, change: Callable[[dict[str, object]], object]) -> None:
    """Change one event, and compute the checksums again: then only the event is wrong."""
    numbers = itertools.count(1)
    rewrite(run / "journal.jsonl", lambda event: change(event) if next(numbers) == line else None)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda e: e.pop("generation"), "it lacks 'generation'"),
        (lambda e: e.update(seq=7), "its `seq` is 7 and should be 3: lines are missing"),
        (lambda e: e.update(event="danced"), "unknown event 'danced': this version of evolve cannot read it"),
        (lambda e: e.update(event=3), "it is not an event"),
        (lambda e: e.update(generation="x\n"), "line 4 is damaged"),
        (lambda e: e.update(generation=5), "generation 5, attempt 0: it was never asked"),
        (lambda e: e.update(event="stopped"), "unknown field `"),
    ],
)
def test_a_damaged_event_is_named_by_file_and_line(make_run, change, why: str) -> None:
    run = make_run(generations=3)
    _edit(run, 4, change)
    data = (run / "journal.jsonl").read_bytes()
    for opened in (RunReader, Archive):
        with pytest.raises(ArchiveError) as caught:
            opened.open(run)
        assert str(run / "journal.jsonl") in str(caught.value)
        assert "line 4 is damaged" in str(caught.value)
        assert why in str(caught.value)
        assert "\n" not in str(caught.value)
    assert (run / "journal.jsonl").read_bytes() == data


@pytest.mark.parametrize(
    "line", [b"garbage\n", b"\n", b"[]\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\0" * 300 + b"\n"]
)
def test_a_line_that_is_no_event_is_damage_even_at_the_end(make_run, line: bytes) -> None:
    run = make_run(generations=2)
    with (run / "journal.jsonl").open("ab") as journal:
        journal.write(line)
    count = (run / "journal.jsonl").read_bytes().count(b"\n")
    with pytest.raises(ArchiveError, match=f"line {count} is damaged"):
        Archive.open(run)


def test_a_tail_of_zeros_left_by_a_power_failure_is_a_torn_line(make_run) -> None:
    run = make_run(generations=2)
    data = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").write_bytes(data + b"\0" * 4096)
    Archive.open(run).close()
    assert (run / "journal.jsonl").read_bytes() == data


def test_an_archive_of_another_format_says_so(make_run) -> None:
    run = make_run(generations=2)
    (run / "journal.jsonl").write_text('{"seq":0,"t":1.0,"event":"created","format":1,"identity":{},"config":""}\n')
    with pytest.raises(ArchiveError, match="its format is 1, and this version of evolve reads 3"):
        Archive.open(run)
    run = make_run("later", generations=2)
    _edit(run, 1, lambda e: e.update(format=4))
    with pytest.raises(ArchiveError, match="its format is 4, and this version of evolve reads 3"):
        RunReader.open(run)


def test_a_folder_that_is_no_run_says_what_it_lacks(make_run, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="there is no run folder of that name"):
        RunReader.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="there is no run folder of that name"):
        Archive.open(tmp_path / "file")
    (tmp_path / "other").mkdir()
    with pytest.raises(
        ArchiveError,
        match=r"is not a run's folder: it lacks run\.yaml, programs\.git/HEAD, programs\.git/objects, journal\.jsonl",
    ):
        Archive.open(tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []
    run = make_run(generations=2)
    (run / "journal.jsonl").write_bytes(b"")
    with pytest.raises(ArchiveError, match="the journal is empty"):
        Archive.open(run)


def test_a_run_is_not_begun_over_something_that_exists(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("run", "link"):
        with pytest.raises(ArchiveError, match=f"{name} exists already"):
            Archive.create(tmp_path / name, config_text="", identity=IDENTITY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "run"]


def test_where_nothing_can_be_written_the_machine_is_at_fault_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match=r"file/runs/run: cannot be written \(Not a directory\); "):
        Archive.create(tmp_path / "file" / "runs" / "run", config_text="", identity=IDENTITY)
    with pytest.raises(TypeError):
        Archive.create(tmp_path / "runs" / "run", config_text="", identity={**IDENTITY, "initial": object()})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"], "no runs/ either"


@pytest.mark.parametrize("room", [0, 100, 2500])
def test_a_disk_that_fills_up_leaves_a_run_that_goes_on_when_there_is_room(make_run, room: int) -> None:
    """The kernel's limit on a file's size stands in for a full disk: the write fails after a part of it."""
    with RunReader.open(make_run("whole", generations=8)) as archive:
        whole = archive.fingerprint()
    run = make_run(generations=4)
    code, (message,) = in_fork(write_until_the_disk_is_full, run, 8, room)
    assert code == 0
    assert f"{run / 'journal.jsonl'}: cannot be written (File too large); " in message
    assert (run / "journal.jsonl").read_bytes().endswith(b"}\n")
    with Archive.open(run) as archive:
        evolve_on(archive, 8, prompts=True)
        assert archive.reader.fingerprint() == whole
    git(run, "fsck", "--strict")


def test_an_object_that_cannot_be_written_is_the_machines_fault_and_recorded_nowhere(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        before = archive.reader.fingerprint()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            with pytest.raises(MachineError, match=r"programs\.git/objects: cannot be written \(File too large\)"):
                ask(archive, 1, prompt=os.urandom(40_000).hex())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert archive.reader.fingerprint() == before
        assert not list((folder / "programs.git" / "objects").glob("tmp*"))
        ask(archive, 1, prompt="shorter")
        answer(archive, 1)
    git(folder, "fsck", "--strict")


def test_a_missing_or_damaged_text_is_named(make_run) -> None:
    run = make_run(generations=3)
    unpack(run)
    blob = git(run, "rev-parse", "gen/1:program.py").strip()
    path = run / "programs.git" / "objects" / blob[:2] / blob[2:]
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:10])
    with RunReader.open(run) as archive:
        with pytest.raises(ArchiveError, match=f"the object {blob} is damaged"):
            archive.files(archive.find("1"))
        path.unlink()
        with pytest.raises(ArchiveError, match=f"the object {blob} is missing"):
            archive.files(archive.find("1"))
