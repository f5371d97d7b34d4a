"""Objects are packed as a run goes on: any git reads the packs, nothing is lost, and few files are left."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.archive import Archive
from evolve.archive.objects import Objects, create_repository
from evolve.archive.reader import RunReader
from tests.archive.small_run import (
    IDENTITY,
    answer,
    ask,
    evolve_on,
    git,
    in_fork,
    record,
    unpack,
    wait_for_packing,
    write_with_packs_until_killed,
)
from tests.examples import part_of_the_examples

LONG = 150
"""Generations of a run that packs several times."""
PACKED_ONCE = 60
"""Generations of a run that packs no more than once."""


@part_of_the_examples(4)
@given(
    groups=st.lists(
        st.lists(st.lists(st.text("ab\n", max_size=30), max_size=30).map("\n".join), min_size=1, max_size=8),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_is_packed_and_merged_git_and_we_read_again(groups: list[list[str]]) -> None:
    repository = Path(tempfile.mkdtemp()) / "programs.git"
    try:
        create_repository(repository)
        objects, written = Objects(repository), {}
        for texts in groups:
            for text in texts:
                name = objects.blob(text)
                objects.tree({"program.py": name})
                written[name] = text
            objects.sync()
            objects.pack()
            assert objects.trouble is None
        assert {name: objects.text(name) for name in written} == written
        assert objects.missing([*written, "f" * 40]) == ["f" * 40]
        git(repository.parent, "fsck", "--strict", "--full")
        for pack in (repository / "objects" / "pack").glob("*.pack"):
            git(repository.parent, "verify-pack", str(pack))
        assert not list((repository / "objects").glob("??/*"))
        for name, text in list(written.items())[:3]:
            assert git(repository.parent, "cat-file", "blob", name) == text
        objects.close()
    finally:
        shutil.rmtree(repository.parent)


def test_a_long_run_has_few_files_and_git_finds_nothing_wrong(make_run) -> None:
    path = make_run(generations=LONG)
    files = [found for found in path.rglob("*") if found.is_file()]
    with RunReader.open(path) as archive:
        programs = [archive.files(program).only for program in archive.programs]
        assert len(files) < 0.2 * len(programs)
        assert len(programs) > 100
    git(path, "fsck", "--strict", "--full")
    assert len(git(path, "log", "--format=%H", "--all").split()) > len(programs)
    git(path, "gc", "-q", "--prune=now")
    git(path, "fsck", "--strict", "--full")


def test_packs_do_not_become_many(tmp_path: Path) -> None:
    create_repository(tmp_path / "programs.git")
    objects, names = Objects(tmp_path / "programs.git"), []
    for number in range(70):
        names.append(objects.blob(f"number {number}\n"))
        objects.sync()
        objects.pack()
    assert len(list((tmp_path / "programs.git" / "objects" / "pack").glob("*.pack"))) <= 12
    assert [objects.text(name) for name in names] == [f"number {number}\n" for number in range(70)]


@pytest.mark.parametrize(
    "generations", [pytest.param(PACKED_ONCE, marks=pytest.mark.slow), pytest.param(LONG, marks=pytest.mark.nightly)]
)
def test_git_collecting_during_a_run_removes_nothing(make_run, tmp_path: Path, generations: int) -> None:
    """Objects that no ref names yet look like garbage to git, which must remove none of them."""
    with RunReader.open(make_run("whole", generations=generations)) as archive:
        whole = archive.fingerprint()
    path, stop, ran = tmp_path / "collected", threading.Event(), []
    commands = (["gc", "-q", "--prune=now"], ["repack", "-adq"], ["prune", "--expire=now"], ["pack-refs", "--all"])

    def collect() -> None:
        while not stop.is_set():
            for words in commands:
                done = subprocess.run(["git", *words], cwd=path / "programs.git", capture_output=True, check=False)
                ran.append((words[0], done.returncode))

    with Archive.create(path, config_text="seed: 0\n", identity=IDENTITY) as archive:
        thread = threading.Thread(target=collect)
        thread.start()
        try:
            evolve_on(archive, generations, prompts=True)
        finally:
            stop.set()
            thread.join()
        assert archive.reader.fingerprint() == whole
    assert ("gc", 0) in ran
    with Archive.open(path) as writer:
        archive = writer.reader
        assert archive.fingerprint() == whole
        assert archive.deferred_writes == []
        read = [archive.files(program).only + archive.patch_text(program) for program in archive.programs]
        for generation in archive.statuses:
            for attempt in archive.attempts(generation):
                assert attempt.prompt is not None
                assert attempt.answer is not None
                read += [archive.text(attempt.prompt), archive.text(attempt.answer)]
        assert len(read) > generations
    git(path, "fsck", "--strict", "--full")


def test_a_clone_that_takes_the_place_of_the_repository_is_made_precious_too(make_run, tmp_path: Path) -> None:
    path = make_run(generations=3)
    git(path, "clone", "-q", "--mirror", ".", str(tmp_path / "mirror.git"))
    shutil.rmtree(path / "programs.git")
    (tmp_path / "mirror.git").rename(path / "programs.git")
    Archive.open(path).close()
    assert git(path, "config", "extensions.preciousObjects") == "true\n"
    assert git(path, "config", "core.repositoryformatversion") == "1\n"
    config = (path / "programs.git" / "config").read_bytes()
    Archive.open(path).close()
    assert (path / "programs.git" / "config").read_bytes() == config


def test_git_killed_while_it_packs_loses_nothing(make_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_run(generations=20)
    with RunReader.open(path) as archive:
        whole = archive.fingerprint()
    unpack(path)
    real, fake = shutil.which("git"), tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.touch(mode=0o755)
    before = os.environ["PATH"]
    for milliseconds in range(0, 60, 4):
        fake.write_text(
            f'#!/bin/sh\n[ "$1" = repack ] && exec timeout -s KILL 0.{milliseconds:03} {real} "$@"\nexec {real} "$@"\n'
        )
        monkeypatch.setenv("PATH", f"{fake.parent}:{before}")
        objects = Objects(path / "programs.git")
        objects.take_over()
        objects.blob(f"one more, {milliseconds}\n")
        objects.sync()
        objects.pack()
        objects.close()
        monkeypatch.setenv("PATH", before)
        git(path, "fsck", "--full")
    with Archive.open(path) as writer:
        assert writer.reader.fingerprint() == whole
        assert all(writer.reader.files(program).only for program in writer.reader.programs)
    assert not [found for found in (path / "programs.git/objects/pack").iterdir() if "tmp" in found.name]


def test_a_torn_object_keeps_nothing_from_being_packed(tmp_path: Path) -> None:
    create_repository(tmp_path / "programs.git")
    objects = Objects(tmp_path / "programs.git")
    names = [objects.blob(f"text {number}\n" * 2 + random.Random(number).randbytes(900).hex()) for number in range(5)]
    torn = tmp_path / "programs.git" / "objects" / names[2][:2] / names[2][2:]
    objects.sync()
    torn.write_bytes(torn.read_bytes()[:500])
    objects.pack()
    assert objects.trouble is None
    assert objects.missing(names) == [names[2]]
    assert [objects.text(name)[:7] for name in names[:2]] == ["text 0\n", "text 1\n"]
    objects.close()


def test_a_reader_goes_on_while_objects_are_packed(tmp_path: Path) -> None:
    create_repository(tmp_path / "programs.git")
    writer, reader = Objects(tmp_path / "programs.git"), Objects(tmp_path / "programs.git")
    names = []
    for number in range(40):
        names.append(writer.blob(f"number {number}\n"))
        writer.sync()
        writer.tidy(least=3)
        assert [reader.text(name) for name in names] == [f"number {one}\n" for one in range(number + 1)]
    reader.close()
    writer.close()


# -- refs --------------------------------------------------------------------------------------------------------------


def test_a_ref_that_somebody_holds_is_deferred_reported_and_written_later(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        root = record(archive, 0)
        lock = folder / "programs.git" / "packed-refs.lock"
        lock.write_text("somebody's")
        for generation in (1, 2):
            ask(archive, generation)
            answer(archive, generation)
            record(archive, generation, score=22.0 + generation, parents=(root.commit,))
        (deferred,) = archive.reader.deferred_writes
        assert "refs could not be written (packed-refs.lock: File exists)" in deferred
        assert lock.read_text() == "somebody's"
        lock.unlink()
        ask(archive, 3)
        answer(archive, 3)
        assert archive.reader.deferred_writes == []
        assert archive.reader.best is not None
        assert git(folder, "rev-parse", "best").strip() == archive.reader.best.commit


def test_a_lock_that_a_killed_writer_left_hinders_no_run_that_goes_on(make_run) -> None:
    path = make_run(generations=5)
    (path / "programs.git" / "packed-refs.lock").write_text("")
    with Archive.open(path) as archive:
        evolve_on(archive, 12, prompts=True)
        assert archive.reader.deferred_writes == []
    assert not list((path / "programs.git").rglob("*.lock"))
    assert git(path, "rev-parse", "gen/9").strip()


def test_refs_of_a_run_that_was_killed_are_there_again_when_it_goes_on(make_run) -> None:
    path = make_run(generations=5)
    archive = Archive.open(path)
    evolve_on(archive, 9, prompts=False)
    best = archive.reader.best
    assert best is not None
    assert git(path, "rev-parse", "best").strip() == best.commit  # at once, in any case
    archive._journal.close()
    git(path, "branch", "-f", "best", "gen/1")  # git gives it a file of its own
    with Archive.open(path) as archive:
        assert git(path, "rev-parse", "best").strip() == best.commit
        assert git(path, "rev-parse", "gen/8").strip() == archive.reader.programs[-1].commit


def test_refs_that_are_not_ours_stay_byte_for_byte_when_ours_are_packed(make_run) -> None:
    path = make_run(generations=30)
    git(path, "-c", "user.name=a", "-c", "user.email=b", "tag", "-a", "-m", "mine", "mine", "gen/1")
    git(path, "pack-refs", "--all")
    packed = path / "programs.git" / "packed-refs"
    foreign = f"{'1' * 40} refs/heads/caf\xe9\n".encode("latin-1")
    packed.write_bytes(packed.read_bytes() + foreign)
    with Archive.open(path) as archive:
        evolve_on(archive, PACKED_ONCE, prompts=False)
    assert foreign in packed.read_bytes()
    packed.write_bytes(packed.read_bytes().replace(foreign, b""))
    assert git(path, "cat-file", "-t", "mine") == "tag\n"
    assert git(path, "rev-parse", "mine^{}") == git(path, "rev-parse", "gen/1")
    with RunReader.open(path) as archive:
        tags = git(path, "for-each-ref", "--format=%(objectname)", "refs/tags/gen").split()
        assert sorted(tags) == sorted(program.commit for program in archive.programs)


# -- killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [4, pytest.param(25, marks=pytest.mark.nightly)])
def test_killed_after_any_call_to_the_disk_it_loses_nothing(make_run, tmp_path: Path, most: int) -> None:
    """Packing at every dozen objects, and killed by SIGKILL behind a system call, each time a later one."""
    with RunReader.open(make_run(generations=40)) as archive:
        whole = archive.fingerprint()
    path, chance, kills = tmp_path / "killed", random.Random(3), 0
    while kills < most:
        code, _ = in_fork(write_with_packs_until_killed, path, 40, chance.randrange(5, 160))
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            break
        kills += 1
        if kills % 3 == 0:
            with RunReader.open(path) as archive:
                assert all(archive.files(program).only for program in archive.programs)
            wait_for_packing(path)
            git(path, "fsck", "--full")
    assert kills > most // 2
    assert in_fork(write_with_packs_until_killed, path, 40, None) == (0, [])
    with RunReader.open(path) as archive:
        assert archive.fingerprint() == whole
    git(path, "fsck", "--strict", "--full")
    assert not list((path / "programs.git" / "objects").rglob("tmp*"))
    assert not list((path / "programs.git").rglob("*.lock"))
