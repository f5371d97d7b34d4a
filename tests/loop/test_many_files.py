"""Runs of programs with one file and many, killed and resumed, done again and reported: all as for one file."""

import random
from pathlib import Path

import pytest

from evaluator.program_files import Files
from tests.loop.climbing import in_fork, opened
from tests.loop.killing import kill_and_resume, offline, run_through
from tests.several_files import make_folder, many


def succeed(folder: Path, *words: str) -> str:
    process = in_fork(folder, *words)
    process.join(120)
    text = (folder / "out.txt").read_text()
    assert process.exitcode == 0, text
    return text


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, pytest.param(40, marks=pytest.mark.nightly)])
def test_a_run_of_many_files_is_killed_resumed_and_done_again(tmp_path: Path, count: int) -> None:
    task = make_folder(tmp_path / "task", many(count))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    settings = {"parallel": 1, "generations": 6, "task": str(task)}
    fingerprint, seconds = run_through(whole, offline(whole, **settings))
    chance = random.Random(f"files:{count}")
    after = kill_and_resume(killed, offline(killed, **settings), kills=3, group=True, seconds=seconds, chance=chance)
    assert after.wrong == []
    with opened(killed) as archive:
        assert archive.fingerprint() == fingerprint
        programs = [archive.files(record) for record in archive.programs]
    assert programs[0] == Files.of(many(count))
    assert len(set(programs)) > 3
    assert all([*program] == [*programs[0]] for program in programs)
    assert "Equal" in succeed(killed, "rerun", "r")
