"""Programs of several files in an archive: written once each, read back whole, and never trusted."""

import subprocess
from pathlib import Path

import pytest

from evaluator.program_files import SEVERAL, Files
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.completion import Completion
from tests.builders import make_evaluation, make_made, make_question

OLD = Files.of(
    {"a.py": "x = 1\n", "src/deep/b.c": "int x;\n", "src/deep.c": "", "patch.txt": "é\ud800", "program/p": "1"}
)
NEW = OLD.changed({"a.py": "x = 2\n", "src/deep/b.c": None, "src/c.py": "y = 1\n"})
IDENTITY = {"task": "t", "suite": "s", "seed": 0, "evaluator_version": "v1", "sandbox": "strong", "program": SEVERAL}


def record(archive: Archive, generation: int, files: Files) -> None:
    if generation:
        archive.asked(make_question(generation, archive.reader.programs), None)
        archive.answered(generation, 0, Completion(text="an answer"))
    parents = tuple(program.commit for program in archive.reader.programs[:1])
    made = make_made(generation, make_evaluation(score=20.0 + generation), parents=parents if generation else ())
    archive.evaluated(made, files=files, patch_text="a patch", answers=None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "run", config_text="", identity=IDENTITY) as archive:
        record(archive, 0, OLD)
    return tmp_path / "run"


def git(run: Path, *words: str, data: bytes | None = None) -> str:
    command = ["git", "--git-dir", str(run / "programs.git"), *words]
    return (
        subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode("utf-8", "replace").strip()
    )


def test_every_file_comes_back_as_it_was(run: Path) -> None:
    with RunReader.open(run) as reader:
        assert reader.files(reader.programs[0]) == OLD
        assert reader.programs[0].length == OLD.length
        assert reader.patch_text(reader.programs[0]) == "a patch"
    names = git(run, "ls-tree", "-r", "--name-only", "best").split("\n")
    assert sorted(names) == sorted(["patch.txt", *(f"program/{path}" for path in OLD)])
    git(run, "fsck", "--strict")


def test_a_text_that_the_parent_has_is_not_written_again(run: Path) -> None:
    with Archive.open(run) as archive:  # what was written before is packed
        record(archive, 1, NEW)
        ids = archive.reader.blobs_of_several(archive.reader.programs[1])
        assert ids is not None
        loose = {path for path, name in ids.items() if (run / "programs.git/objects" / name[:2] / name[2:]).exists()}
        assert loose == {path for path in NEW if NEW[path] != OLD.get(path)} == {"a.py", "src/c.py"}
        assert archive.reader.files(archive.reader.programs[1]) == NEW
        assert archive.reader.files(archive.reader.programs[0]) == OLD
