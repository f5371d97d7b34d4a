"""A program of a repository that another machine measured: its verdict is that machine's word, if it can be one."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.evaluation import Outcome
from evaluator.pairs import ORDINARY, Pair
from evaluator.program_files import Files
from evaluator.recording import PairedRecording, Recording, RecordingMismatch
from evaluator.remote import Reported
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.version import version_of
from evolve.cluster.packing import pack, unpack
from tests.repository_tasks import written

WORK = "def work(number):\n    return sum(each * each for each in range(number))\n"
FASTER = "def work(number):\n    return (number - 1) * number * (2 * number - 1) // 6\n"
WRONG = WORK.replace("each * each", "each")
CHECK = (
    "import unittest\nfrom work import work\n\n\n"
    "class Works(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(work(4), 14)\n"
)
PAIRS = (Pair(reference=2.0, candidate=1.0),) * ORDINARY


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("task")
    (folder / "repository" / "tools").mkdir(parents=True)
    for name, text in (("work.py", WORK), ("check.py", CHECK), ("bench.py", "from work import work\nwork(300000)\n")):
        (folder / "repository" / name).write_text(text)
    (folder / "repository" / ".flags").write_text("fast\n")
    (folder / "repository" / "tools" / "flags").symlink_to("../.flags")
    (folder / "repository" / "tools" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "repository" / "tools" / "run.sh").chmod(0o755)
    own = {"edit": ["work.py"], "test": "python -m unittest -q check && ./tools/run.sh && cat tools/flags"}
    return written(folder, own | {"bench": "python bench.py", "tests": 1})


@pytest.fixture(scope="module")
def evaluator(task: Task) -> Iterator[RepositoryEvaluator]:
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        yield opened


def program(text: str) -> Files:
    return Files.single("work.py", text)


def travelled(recording: Recording) -> Recording:
    """A recording after it was sent as text."""
    text = Reported(host="h", worker="w", recording=recording).to_json()
    return Reported.from_json(text, host="h", worker="w").recording


def test_what_a_worker_measures_is_its_word(evaluator: RepositoryEvaluator, task: Task, tmp_path: Path) -> None:
    there = load_task(str(unpack(pack(task), tmp_path)))
    assert version_of(there, there.suite()) == version_of(task, task.suite()), "hidden files and links travel, too"
    with RepositoryEvaluator(there, there.suite(), workers=1) as worker:
        worker.require_unchanged()
        recordings = {text: travelled(worker.record(program(text))) for text in (WORK, FASTER, WRONG)}
    for text, recording in recordings.items():
        played = evaluator.play(program(text), recording)
        assert played.self_judged
        assert played.outcome is (Outcome.INFEASIBLE if text is WRONG else Outcome.OK)
    assert evaluator.play(program(WORK), recordings[WORK]).combined_score == 1
    faster = evaluator.play(program(FASTER), recordings[FASTER])
    assert faster.pairs == ORDINARY
    assert faster.metrics["tests"] == 1
    assert "these tests fail: test_it (check.Works" in evaluator.play(program(WRONG), recordings[WRONG]).detail
    assert evaluator.refuse(program(FASTER)) is None
    refused = evaluator.refuse(program(FASTER).changed({"check.py": ""}))
    assert refused is not None
    assert "check.py may not change" in refused.detail


PASSED = PairedRecording(tests=1, pairs=PAIRS, own=1.0)


def test_its_score_is_the_median_ratio_of_its_pairs(evaluator: RepositoryEvaluator) -> None:
    assert evaluator.play(program(FASTER), Recording(paired=PASSED)).combined_score == pytest.approx(2)
    down = evaluator.play(program(FASTER), Recording(takes_worker_down="it takes its worker down"))
    assert down.outcome is Outcome.CRASH


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        (Recording(), "another kind of task"),
        (Recording(paired=replace(PASSED, tests=0)), "fewer tests"),
        (Recording(paired=replace(PASSED, tests=None)), "fewer tests"),
        (Recording(paired=replace(PASSED, pairs=PAIRS[1:])), "another number of pairs"),
        (Recording(paired=replace(PASSED, own=0.0)), "impossible"),
        (Recording(paired=replace(PASSED, pairs=(*PAIRS[1:], Pair(reference=1.0, candidate=-1.0)))), "impossible"),
        (Recording(paired=replace(PASSED, pairs=(*PAIRS[1:], Pair(reference=1e41, candidate=1.0)))), "impossible"),
        (Recording(paired=PairedRecording(failure=Outcome.OK)), "a failure that is none"),
    ],
)
def test_what_cannot_be_is_no_report(evaluator: RepositoryEvaluator, recording: Recording, why: str) -> None:
    with pytest.raises(RecordingMismatch, match=why):
        evaluator.play(program(FASTER), recording)


@pytest.mark.parametrize(
    "paired", [replace(PASSED, tests=-1), replace(PASSED, tests=10**10), replace(PASSED, cpu_s=-1)]
)
def test_a_report_that_is_out_of_all_bounds_is_not_read(paired: PairedRecording) -> None:
    with pytest.raises(RecordingMismatch, match="impossible"):
        travelled(Recording(paired=paired))


def test_the_unchanged_code_must_pass_there(task: Task, tmp_path: Path) -> None:
    shutil.copytree(task.folder, tmp_path / "task", symlinks=True)
    (tmp_path / "task" / "repository" / "tools" / "run.sh").chmod(0o644)
    there = load_task(str(tmp_path / "task"))
    with (
        RepositoryEvaluator(there, there.suite(), workers=1) as worker,
        pytest.raises(Exception, match="the unchanged code does not pass here: the tests fail"),
    ):
        worker.require_unchanged()
