"""Archives that aim at git itself: none of what they plant for git is obeyed, by reading or by writing."""

import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.archive.git import MAX_OBJECT
from evolve.archive.objects import Objects
from evolve.archive.reader import RunReader
from evolve.core.errors import ArchiveError
from tests.archive.small_run import git

EMPTY = "0" * 40


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """What a program of the archive leaves behind, should anybody run it."""
    return tmp_path / "ran"


@pytest.fixture
def planted(tmp_path: Path, ran: Path) -> Path:
    """A program that says that it was run."""
    program = tmp_path / "planted"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    program.chmod(0o755)
    return program


def _configure(repository: Path, text: str) -> None:
    with (repository / "config").open("a") as file:
        file.write(text)


def _hooks(repository: Path, planted: Path, commit: str) -> None:
    (repository / "hooks").mkdir()
    for name in (
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
        "post-checkout",
        "update",
        "post-index-change",
    ):
        (repository / "hooks" / name).symlink_to(planted)


def _programs(repository: Path, planted: Path, commit: str) -> None:
    names = ("fsmonitor", "sshCommand", "pager", "editor", "askPass", "alternateRefsCommand", "gitProxy")
    _configure(repository, "[core]\n" + "".join(f"\t{name} = {planted}\n" for name in names))
    _configure(repository, f"[gc]\n\trecentObjectsHook = {planted}\n[uploadpack]\n\tpackObjectsHook = {planted}\n")


def _promisor(repository: Path, planted: Path, commit: str) -> None:
    """An object that is missing is fetched by a command."""
    _configure(repository, "[extensions]\n\tpartialClone = evil\n[protocol]\n\tallow = always\n")
    _configure(repository, f'[remote "evil"]\n\turl = ext::{planted}\n\tpromisor = true\n')


def _included(repository: Path, planted: Path, commit: str) -> None:
    other = repository / "more"
    other.write_text(f"[core]\n\tfsmonitor = {planted}\n\tsshCommand = {planted}\n\thooksPath = {planted.parent}\n")
    _configure(repository, f'[include]\n\tpath = {other}\n[includeIf "gitdir:/"]\n\tpath = {other}\n')


def _common_folder(repository: Path, planted: Path, commit: str) -> None:
    """All but HEAD is looked for elsewhere."""
    elsewhere = planted.parent / "elsewhere"
    (elsewhere / "objects").mkdir(parents=True)
    (elsewhere / "config").write_text(f"[core]\n\tfsmonitor = {planted}\n")
    (repository / "commondir").write_text(f"{elsewhere}\n")


def _replacement(repository: Path, planted: Path, commit: str) -> None:
    """Another commit in the place of this one."""
    other = git(repository.parent, "commit-tree", f"{commit}^{{tree}}", "-m", "another").strip()
    (repository / "refs" / "replace").mkdir()
    (repository / "refs" / "replace" / commit).write_text(other + "\n")


def _graft(repository: Path, planted: Path, commit: str) -> None:
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info" / "grafts").write_text(f"{commit} {EMPTY}\n")
    (repository / "shallow").write_text(f"{commit}\n")


def _worktree(repository: Path, planted: Path, commit: str) -> None:
    _configure(repository, f"[extensions]\n\tworktreeConfig = true\n[core]\n\tworktree = {planted.parent}\n")
    (repository / "config.worktree").write_text(f"[core]\n\tfsmonitor = {planted}\n\thooksPath = {planted.parent}\n")


def _alternates_over_http(repository: Path, planted: Path, commit: str) -> None:
    (repository / "objects" / "info" / "http-alternates").write_text("http://127.0.0.1:9/objects\n")


def _caches(repository: Path, planted: Path, commit: str) -> None:
    """A commit graph, and an index over packs, that are no such thing."""
    (repository / "objects" / "info" / "commit-graph").write_bytes(b"CGPH" + b"\xff" * 200)
    (repository / "objects" / "pack" / "multi-pack-index").write_bytes(b"MIDX" + b"\xff" * 200)


def _unknown_format(repository: Path, planted: Path, commit: str) -> None:
    """What makes git itself refuse the repository."""
    _configure(repository, "[core]\n\trepositoryformatversion = 99\n[extensions]\n\tobjectFormat = sha256\n")


@pytest.mark.parametrize(
    "plant",
    [
        _hooks,
        _programs,
        _promisor,
        _included,
        _common_folder,
        _replacement,
        _graft,
        _worktree,
        _alternates_over_http,
        _caches,
        _unknown_format,
    ],
)
def test_what_is_planted_for_git_is_not_obeyed(
    make_run: Callable[..., Path], planted: Path, ran: Path, plant: Callable[[Path, Path, str], None]
) -> None:
    run = make_run(generations=7)
    with RunReader.open(run) as archive:
        whole = [(program.commit, archive.files(program).only) for program in archive.programs]
    plant(run / "programs.git", planted, whole[0][0])
    with RunReader.open(run) as archive:
        assert [(program.commit, archive.files(program).only) for program in archive.programs] == whole
    with Archive.open(run) as archive:
        objects = Objects(run / "programs.git")
        objects.blob("one more\n")
        objects.sync()
        objects.pack()
        objects.close()
        assert objects.trouble is None
        assert [archive.reader.files(program).only for program in archive.reader.programs] == [
            text for _, text in whole
        ]
    assert not ran.exists()


def test_the_planted_program_would_leave_its_mark(planted: Path, ran: Path) -> None:
    """Else the tests above could not fail."""
    subprocess.run([planted], input=b"", check=True)
    assert ran.exists()


def test_an_object_larger_than_any_is_refused_by_its_header(make_run: Callable[..., Path]) -> None:
    run = make_run(generations=1)
    with RunReader.open(run) as archive:
        program = archive.programs[0]
    for packed in (run / "programs.git" / "objects" / "pack").iterdir():
        packed.unlink()
    loose = run / "programs.git" / "objects" / program.commit[:2] / program.commit[2:]
    loose.parent.mkdir(exist_ok=True)
    loose.write_bytes(zlib.compress(b"commit %d\0" % (MAX_OBJECT + 1) + bytes(MAX_OBJECT + 1)))
    with RunReader.open(run) as archive, pytest.raises(ArchiveError, match=f"larger than {MAX_OBJECT} bytes"):
        archive.files(program)


@pytest.mark.parametrize(
    "variable", ["GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_COMMON_DIR"]
)
def test_another_repository_in_the_environment_lends_nothing(
    make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    whole, bare = make_run("whole", generations=2), make_run("bare", generations=2)
    for path in sorted((bare / "programs.git" / "objects").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    there = whole / "programs.git"
    monkeypatch.setenv(variable, os.fspath(there / "objects" if "OBJECT" in variable else there))
    with pytest.raises(ArchiveError, match="is missing"):
        RunReader.open(bare)
