"""A writer that is killed at any moment leaves an archive that resume completes as if nothing had happened."""

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.errors import ArchiveError
from tests.archive.small_run import evolve_on, git, in_fork, unpack, write_to_the_end, write_until_killed
from tests.journals import rewrite


def _cut(run: Path, copy: Path, length: int) -> Path:
    """The run as it was when its journal had `length` bytes, with all that came later still in git."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    os.truncate(copy / "journal.jsonl", length)
    return copy


@pytest.mark.parametrize("prompts", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_cut_off_after_any_event_and_resumed_it_is_the_same_run(make_run, tmp_path: Path, prompts: bool) -> None:
    run = make_run(generations=6, prompts=prompts)
    with RunReader.open(run) as archive:
        whole = archive.fingerprint()
    refs = git(run, "for-each-ref")
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) > 20
    length = 0
    for line in lines[:-1]:
        length += len(line)
        copy = _cut(run, tmp_path / "copy", length)
        with Archive.open(copy) as archive:
            assert set(archive.reader.statuses) >= {record.generation for record in archive.reader.programs}
            archive.resumed()
            evolve_on(archive, 6, prompts=prompts)
            assert archive.reader.fingerprint() == whole, line
        if length % 3 == 0:  # a third of them, for the time that git takes
            assert git(copy, "for-each-ref") == refs
    with RunReader.open(copy) as archive:
        assert archive.fingerprint() == whole


def test_cut_off_again_and_again_it_is_the_same_run(make_run, tmp_path: Path) -> None:
    run = make_run(generations=5)
    with RunReader.open(run) as archive:
        whole = archive.fingerprint()
    copy = _cut(run, tmp_path / "copy", (run / "journal.jsonl").stat().st_size)
    journal = copy / "journal.jsonl"
    chance = random.Random(7)
    for _ in range(6):
        lines = journal.read_bytes().splitlines(keepends=True)
        kept = chance.randrange(2, len(lines))
        journal.write_bytes(b"".join(lines[:kept]) + lines[kept][: chance.randrange(len(lines[kept]))])
        with Archive.open(copy) as archive:
            archive.resumed()
            evolve_on(archive, 5, prompts=True)
            assert archive.reader.fingerprint() == whole
    git(copy, "fsck", "--strict")


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_last_events_may_be_torn_at_any_byte(make_run, step: int) -> None:
    run = make_run(generations=2)
    journal = run / "journal.jsonl"
    data = journal.read_bytes()
    lines = data.splitlines(keepends=True)
    ends = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for length in sorted({*range(ends[-3], len(data), step), *(end - 1 for end in ends[-2:])}):
        journal.write_bytes(data[:length])
        with RunReader.open(run) as reader:
            read = reader.fingerprint()
        whole = max(end for end in ends if end <= length)
        assert journal.read_bytes() == data[:length], "a reader changes nothing"
        with Archive.open(run) as writer:
            repaired = journal.read_bytes()
            if length + 1 in ends:  # all but its line's end: the event was written
                assert repaired == data[: length + 1]
            else:
                assert repaired == data[:whole]
                assert writer.reader.fingerprint() == read
    journal.write_bytes(data)


def test_refs_are_put_right_whatever_became_of_them(make_run) -> None:
    run = make_run(generations=7)
    refs = git(run, "for-each-ref")
    repository = run / "programs.git"
    for harm in (
        lambda: shutil.rmtree(repository / "refs" / "tags"),
        lambda: (repository / "refs" / "heads" / "best").write_text(""),
        lambda: (repository / "refs" / "heads" / "best").write_text(git(run, "rev-parse", "gen/0")),
        lambda: git(run, "update-ref", "refs/evolve/attempts", "gen/0"),
        lambda: (repository / "packed-refs.lock").write_text("left by a killed writer"),
        lambda: git(run, "tag", "gen/99", "best"),
        lambda: (git(run, "tag", "gen/99", "best"), git(run, "pack-refs", "--all")),
    ):
        harm()
        Archive.open(run).close()
        assert git(run, "for-each-ref") == refs
    git(run, "branch", "mine", "gen/1")
    Archive.open(run).close()
    assert "refs/heads/mine" in git(run, "for-each-ref"), "what is not ours is left alone"


def test_killed_at_any_moment_for_real(make_run, tmp_path: Path) -> None:
    with RunReader.open(make_run(generations=25)) as archive:
        whole = archive.fingerprint()
    path = tmp_path / "killed"
    chance = random.Random(1)
    for _ in range(3):
        code, _ = in_fork(write_until_killed, path, 25, chance.uniform(0.0, 0.02))
        assert code == -signal.SIGKILL
    assert in_fork(write_to_the_end, path, 25) == (0, [])
    with RunReader.open(path) as archive:
        assert archive.fingerprint() == whole
        assert archive.finished == "generations"
    git(path, "fsck", "--strict")


def test_a_commit_that_the_journal_names_and_git_lacks_is_named(make_run) -> None:
    run = make_run(generations=3)
    with RunReader.open(run) as archive:
        lost = archive.find("1").commit
    unpack(run)
    (run / "programs.git" / "objects" / lost[:2] / lost[2:]).unlink()
    for opened in (RunReader, Archive):
        with pytest.raises(ArchiveError, match=f"programs.git: the commit {lost} of generation 1 is missing"):
            opened.open(run)


def test_a_changed_number_is_for_replay_to_find_and_does_not_hinder_opening(make_run) -> None:
    run = make_run(generations=3)
    journal = run / "journal.jsonl"
    with RunReader.open(run) as archive:
        before = archive.fingerprint()
    rewrite(journal, lambda event: event["evaluation"].update(costs=["7/3", "1/8"]) if "evaluation" in event else None)
    with Archive.open(run) as archive:
        assert archive.reader.fingerprint() != before
        assert json.dumps(archive.reader.evaluation(archive.reader.find("0")).to_json()["costs"]) == '["7/3", "1/8"]'
