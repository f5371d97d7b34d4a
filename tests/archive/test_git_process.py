"""Git is a process: it may be missing, slow, killed or cut off, and none of that is reported as damage of a run."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.archive.objects import Objects, create_repository
from evolve.archive.reader import RunReader
from evolve.core.errors import MachineError
from tests.archive.small_run import IDENTITY, evolve_on, git

GIT = shutil.which("git")
Fake = Callable[[str], None]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts lines of a shell in front of git, which run with its arguments."""
    path = tmp_path / "bin" / "git"
    path.parent.mkdir()
    path.touch(mode=0o755)

    def put(lines: str) -> None:
        path.write_text(f'#!/bin/sh\n{lines}\nexec {GIT} "$@"\n')
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    return put


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[Objects]:
    create_repository(tmp_path / "programs.git")
    made = Objects(tmp_path / "programs.git")
    yield made
    made.close()


def written(objects: Objects, *texts: str) -> list[str]:
    names = [objects.blob(text) for text in texts]
    objects.sync()
    return names


@contextlib.contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """KeyboardInterrupt in the body, after so long."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_question_that_was_interrupted_is_not_answered_to_the_next(objects: Objects, fake: Fake) -> None:
    one, two = written(objects, "one", "two")
    fake("sleep 0.3")
    with interrupted(0.1):
        objects.text(one)
    assert [objects.text(two), objects.text(one)] == ["two", "one"]


def test_a_process_that_is_killed_is_started_again(objects: Objects, fake: Fake, tmp_path: Path) -> None:
    (one,) = written(objects, "one")
    fake(f"[ -e {tmp_path}/killed ] || {{ touch {tmp_path}/killed; kill -9 $$; }}")
    assert objects.text(one) == "one"
    objects.pack()
    (tmp_path / "killed").unlink()
    with pytest.raises(MachineError, match="git was ended by signal 9; try again"):
        objects.missing([one])


def test_what_keeps_git_from_starting_is_the_machines(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = written(objects, "one")
    free = os.dup(0)
    os.close(free)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(MachineError, match=r"cannot be read by git \(Too many open files\)"):
            objects.text(one)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert objects.text(one) == "one"


def test_a_working_folder_that_is_gone_is_no_damage(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = written(objects, "one", "two")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert objects.text(one) == "one"
    objects.pack()
    assert objects.trouble is None
    assert objects.missing([one, two, "f" * 40]) == ["f" * 40]
    assert objects.text(two) == "two"


def test_a_run_whose_git_goes_away_ends_in_order_and_is_packed_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without, Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        evolve_on(archive, 3, prompts=True)
        without.setenv("PATH", "/nonexistent")
        archive.close()
        (deferred,) = archive.reader.deferred_writes
        assert "objects could not be packed (git is not installed" in deferred
        assert "\n" not in deferred
    with Archive.open(folder) as archive:
        evolve_on(archive, 4, prompts=True)
    assert not list((folder / "programs.git" / "objects").glob("??/*"))
    git(folder, "fsck", "--strict")


def test_git_gets_nothing_of_the_environment(
    objects: Objects, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_COMMON_DIR", "GIT_MMAP_LIMIT", "GIT_TRACE", "HOME", "OPENAI_API_KEY", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "theirs")
    fake(f'env >> "{tmp_path}/$1"')
    one, _ = written(objects, "one", "two")
    objects.pack()
    assert (objects.trouble, objects.text(one), objects.missing([one])) == (None, "one", [])
    for command in ("cat-file", "repack"):
        environment = (tmp_path / command).read_text().splitlines()
        assert not [line for line in environment if "theirs" in line], command
        assert {line.partition("=")[0] for line in environment if not line.startswith("GIT_")} <= {
            "LD_LIBRARY_PATH",
            "PATH",
            *("PWD", "OLDPWD", "SHLVL", "_"),  # the shell's own
        }
    (limit,) = {line for line in (tmp_path / "repack").read_text().splitlines() if "ALLOC" in line}
    assert int(limit.partition("=")[2]) >= 1000 * 600_000, "a table of 600,000 objects"


def test_packing_that_is_interrupted_ends_its_children(objects: Objects, fake: Fake, tmp_path: Path) -> None:
    names = written(objects, "one", "two")
    fake(f'[ "$1" = repack ] && {{ sleep 60 & echo $$ $! > {tmp_path}/pids; wait; }}')
    with interrupted(0.4):
        objects.pack()
    for process in map(int, (tmp_path / "pids").read_text().split()):
        assert gone(process)
    assert [objects.text(name) for name in names] == ["one", "two"]


def gone(process: int) -> bool:
    """Whether a process has ended, or its present parent is about to collect it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_a_packing_that_outlives_a_killed_writer_harms_nothing(make_run: Callable[..., Path], tmp_path: Path) -> None:
    path = make_run(generations=8)
    with RunReader.open(path) as archive:
        whole = archive.fingerprint()
    objects = Objects(path / "programs.git")
    written(objects, "of the killed writer")
    core = subprocess.run([str(GIT), "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    slow = tmp_path / "core" / "git"
    slow.parent.mkdir()
    slow.touch(mode=0o755)
    slow.write_text(
        f'#!/bin/sh\n{core}/git "$@" || exit\n[ "$1" = pack-objects ] || exit 0\n'
        f"touch {tmp_path}/made\nwhile ! [ -e {tmp_path}/go ]; do sleep 0.02; done\n"
    )
    create_repository(tmp_path / "empty.git")
    (tmp_path / "empty.git" / "config").unlink()
    place = {"GIT_DIR": str(tmp_path / "empty.git"), "GIT_OBJECT_DIRECTORY": str(path / "programs.git" / "objects")}
    orphan = subprocess.Popen(
        [f"{core}/git", "repack", "-d", "-q", "--geometric=2"],
        env=os.environ | place | {"GIT_EXEC_PATH": str(slow.parent)},
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "made").exists():
        assert orphan.poll() is None
        time.sleep(0.01)
    with Archive.open(path) as writer:  # which sweeps
        (tmp_path / "go").touch()
        orphan.communicate()
        assert orphan.returncode != 0
        assert writer.reader.fingerprint() == whole
        evolve_on(writer, 12, prompts=True)
    assert writer.reader.deferred_writes == []
    git(path, "fsck", "--strict", "--full")
    assert not list((path / "programs.git" / "objects").glob("??/*"))
    assert not [found for found in (path / "programs.git/objects/pack").iterdir() if "tmp" in found.name]
