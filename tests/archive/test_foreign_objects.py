"""Somebody else's objects, refs and folders: none leads out of the run, and none takes the machine's time or memory."""

import hashlib
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from evolve.archive.archive import Archive, repair
from evolve.archive.layout import sweep_unfinished
from evolve.archive.reader import RunReader
from evolve.archive.refs import Refs
from evolve.core.errors import ArchiveError
from tests.journals import events_of, rewrite


def _put(run: Path, kind: bytes, content: bytes) -> str:
    data = b"%s %d\0%s" % (kind, len(content), content)
    name = hashlib.sha1(data).hexdigest()
    path = run / "programs.git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data, 9))
    return name


def _replace_first_commit(run: Path, tree: str) -> None:
    commit = _put(run, b"commit", b"tree %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n" % tree.encode())
    old = next(event["commit"] for event in events_of(run / "journal.jsonl") if event["event"] == "evaluated")

    def change(event):
        event.update({"commit": commit} if event.get("commit") == old else {})
        for key in ("parents", "inspirations"):
            if key in event:
                event[key] = [commit if parent == old else parent for parent in event[key]]

    rewrite(run / "journal.jsonl", change)


def _run_within(megabytes: int, code: str, run: Path) -> None:
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({megabytes * 2**20},) * 2)\n"
    subprocess.run([sys.executable, "-c", limit + code, str(run)], check=True)


@pytest.mark.parametrize("name", ["../../../../../mine", "../mine", "..", "a/../../../../../../mine"])
def test_a_packed_ref_deletes_nothing_outside_of_the_repository(make_run, name) -> None:
    run = make_run(generations=2)
    kept = [run.parent / "mine", run / "programs.git" / "refs" / "tags" / "mine"]
    for path in kept:
        path.write_text("precious")
    with RunReader.open(run) as archive:
        commit = archive.programs[0].commit
    packed = run / "programs.git" / "packed-refs"
    packed.write_text(f"{commit} refs/tags/gen/{name}\n{commit} refs/tags/gen/99\n")
    Archive.open(run).close()
    assert all(path.read_text() == "precious" for path in kept)
    assert "refs/tags/gen/99" not in packed.read_text()


def test_packed_refs_without_end_are_not_read(make_run) -> None:
    run = make_run(generations=1)
    (run / "programs.git" / "packed-refs").write_bytes(b"a b\n" * 300_001)
    with pytest.raises(ArchiveError, match="more than 300000 lines"):
        Refs(run / "programs.git").follow({})


def test_a_huge_tree_is_refused_at_once(make_run) -> None:
    run = make_run(generations=1)
    _replace_first_commit(run, _put(run, b"tree", bytes(15 * 2**20)))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match="a tree of more than"):
        archive.files(archive.programs[0])


def test_a_program_longer_than_any_is_not_given_to_anybody(make_run) -> None:
    run = make_run(generations=1)
    blob = _put(run, b"blob", b"a\nb\n" * 2**20)
    _replace_first_commit(run, _put(run, b"tree", b"100644 program.py\0" + bytes.fromhex(blob)))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match="the most for a program"):
        archive.files(archive.programs[0])


def _tree(*entries: tuple[bytes, bytes, str]) -> bytes:
    return b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(child)) for mode, name, child in entries)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (b"..", "must be relative"),
        (b"a\nb", "must not have control characters"),
        (b".git", "must not lead into a folder .git"),
        (b"x" * 300, "a path of more than 200 characters"),
    ],
)
def test_a_file_of_a_program_lies_within_it(make_run, name: bytes, message: str) -> None:
    run = make_run(generations=1)
    folder = _put(run, b"tree", _tree((b"100644", name, _put(run, b"blob", b"x"))))
    _replace_first_commit(run, _put(run, b"tree", _tree((b"40000", b"program", folder))))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match=message):
        archive.files(archive.programs[0])


@pytest.mark.parametrize("leaf", ["", "a file", "a large file"])
def test_a_small_archive_is_no_large_program(make_run, leaf: str) -> None:
    run = make_run(generations=1)
    name = _put(run, b"tree", b"")
    if leaf:
        text = bytes(200_000 if leaf == "a large file" else 1)
        name = _put(run, b"tree", _tree((b"100644", b"f", _put(run, b"blob", text))))
    for _ in range(60):  # 2 to the power of 60 folders
        name = _put(run, b"tree", _tree((b"40000", b"a", name), (b"40000", b"b", name)))
    _replace_first_commit(run, _put(run, b"tree", _tree((b"40000", b"program", name))))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match="more than 1000 files or 2000 folders"):
        archive.files(archive.programs[0])


def test_the_files_of_a_program_are_not_read_beyond_its_limit(make_run) -> None:
    run = make_run(generations=1)
    blob = _put(run, b"blob", b"x" * 200_000)
    folder = _put(run, b"tree", _tree(*((b"100644", b"%03d" % number, blob) for number in range(900))))
    _replace_first_commit(run, _put(run, b"tree", _tree((b"40000", b"program", folder))))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match="longer than a program may be, at 041"):
        archive.files(archive.programs[0])


def test_an_index_that_names_more_than_its_pack_holds_is_not_used(make_run) -> None:
    run = make_run(generations=1)
    packs = run / "programs.git" / "objects" / "pack"
    for number in range(4):
        with (packs / f"pack-{number:040x}.idx").open("wb") as file:
            file.write(b"\xfftOc\0\0\0\2" + bytes(255 * 4) + (2_300_000).to_bytes(4, "big"))
            file.truncate(1032 + 28 * 2_300_000 + 40)
        (packs / f"pack-{number:040x}.pack").write_bytes(b"x")
    code = "import sys\nfrom pathlib import Path\nfrom evolve.archive.reader import RunReader\n"
    code += "with RunReader.open(Path(sys.argv[1])) as a: print(len(a.files(a.programs[0]).only))"
    _run_within(300, code, run)


def test_a_pipe_next_to_a_run_blocks_nobody(tmp_path) -> None:
    place = tmp_path / ".x.deadbeef"
    place.mkdir()
    os.mkfifo(place / "journal.jsonl")
    os.utime(place, (1, 1))
    sweep_unfinished(tmp_path)
    assert place.exists()


def test_a_long_damaged_end_is_kept_without_being_held_in_memory(make_run) -> None:
    run = make_run(generations=1)
    journal = run / "journal.jsonl"
    sound = journal.read_bytes()
    with journal.open("ab") as file:
        file.write(b"garbage\n")
        file.truncate(len(sound) + 300 * 2**20)
    code = "import sys\nfrom pathlib import Path\nfrom evolve.archive.archive import repair\nrepair(Path(sys.argv[1]))"
    _run_within(400, code, run)
    assert journal.read_bytes() == sound
    assert (run / "journal.cut-off-1").stat().st_size == 300 * 2**20
    (run / "journal.cut-off-1").unlink()
    assert "every line is sound" in repair(run)
