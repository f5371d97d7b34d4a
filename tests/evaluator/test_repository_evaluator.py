"""Programs of a repository: what each may change, what its tests and benchmark say of it, and what it leaves behind."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.evaluation import Evaluation, Incumbent, Outcome
from evaluator.pairs import LOOKS
from evaluator.program_files import Files
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.repository.proof import unused_files
from evaluator.repository_task import Repository
from evaluator.task import Task
from evaluator.task_files import load_task
from tests.repository_tasks import DISTANCE, SEARCH, changed, in_c, nearby_task, written

COUNTING = (
    "def work(number):\n    return sum(each * each for each in range(number))\n",
    "import unittest\nfrom work import work\n\n\n"
    "class Works(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(work(4), 14)\n",
    "from work import work\n\nfor _ in range(20):\n    work(5000)\n",
)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return nearby_task(tmp_path_factory.mktemp("nearby"), tests=12)


@pytest.fixture(scope="module")
def evaluator(task: Task) -> Iterator[RepositoryEvaluator]:
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def unchanged(task: Task) -> Files:
    return task.initial_files()


def with_line(unchanged: Files, line: str) -> Files:
    """The program with a line before the last one of `distance`."""
    head, last = unchanged[DISTANCE].rsplit("    return ", 1)
    return changed(unchanged, distance=f"{head}{line}    return {last}")


def small(folder: Path, **keys: object) -> Task:
    """A task of three small files, without any package."""
    (folder / "repository").mkdir()
    for name, text in zip(("work.py", "check.py", "bench.py"), COUNTING, strict=True):
        (folder / "repository" / name).write_text(text)
    own = {"edit": ["work.py"], "test": "python -m unittest -q check", "bench": "python bench.py"}
    return written(folder, own | keys)


def evaluated(task: Task, program: Files) -> Evaluation:
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        return opened.evaluate(program)


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_the_unchanged_code_scores_one(evaluator: RepositoryEvaluator, unchanged: Files) -> None:
    evaluation = evaluator.evaluate(unchanged)
    assert evaluation.correct
    assert not evaluation.self_judged
    assert evaluation.combined_score == 1
    assert evaluation.metrics["tests"] == 12
    assert evaluation.pairs == 0
    assert Evaluation.from_json(evaluation.to_json()).to_json() == evaluation.to_json()


def test_a_failing_test_is_named_with_the_end_of_the_output(evaluator: RepositoryEvaluator, unchanged: Files) -> None:
    evaluation = evaluator.evaluate(with_line(unchanged, "    table[-1][-1] += 1\n"))
    assert evaluation.outcome is Outcome.INFEASIBLE
    assert "tests/test_distance.py::test_known_distances[saturday-sunday-3]" in evaluation.detail
    assert "E       AssertionError" in evaluation.feedback
    assert "evolve-scratch" not in evaluation.feedback


@pytest.mark.parametrize(
    ("line", "outcome", "says"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Outcome.CRASH, "tests: it died of SIGSEGV"),
        ("while True: pass", Outcome.CPU_LIMIT, "tests: over the limit of 1 s CPU"),
        ("open('/etc/evolve-was-here', 'w')", Outcome.INFEASIBLE, "these tests fail: test_it (check.Works"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", Outcome.INFEASIBLE, "these tests fail: test_it"),
        (
            "import os; os._exit(0)",
            Outcome.INFEASIBLE,
            "an unknown number of tests ran, and 1 ran of the unchanged code",
        ),
    ],
)
def test_what_kills_or_leaves_its_place_is_no_program(tmp_path: Path, line: str, outcome: Outcome, says: str) -> None:
    task = small(tmp_path, tests=1)
    program = task.initial_files()
    limited = replace(task.suite(), limits=replace(task.suite().limits, cpu_total_s=1))
    with RepositoryEvaluator(task, limited, workers=1) as opened:
        source = program["work.py"].replace("    return", f"    {line}\n    return")
        evaluation = opened.evaluate(program.changed({"work.py": source}))
    assert evaluation.outcome is outcome, evaluation.feedback
    assert says in evaluation.detail
    assert not Path("/etc/evolve-was-here").exists()


@pytest.mark.parametrize("path", ["tests/test_search.py", "bench.py", "conftest.py", "nearby/__pycache__/x.py"])
def test_only_what_matches_edit_may_change(evaluator: RepositoryEvaluator, unchanged: Files, path: str) -> None:
    evaluation = evaluator.evaluate(unchanged.changed({path: "pass\n"}))
    assert evaluation.outcome is Outcome.LOAD_ERROR
    assert evaluation.detail == f"{path} may not change: only files that match nearby/*.py may"


def test_nothing_is_kept_from_one_run_to_the_next(tmp_path: Path) -> None:
    """A program that fails wherever an earlier run of it left a mark passes in every run."""
    task = small(tmp_path, tests=1)
    program = task.initial_files()
    marks = (
        "from pathlib import Path\nfor place in (Path('mark'), Path.home() / 'mark', Path('/tmp/mark')):\n"
        "    assert not place.exists()\n    try:\n        place.touch()\n    except OSError:\n        pass\n"
    )
    evaluation = evaluated(task, program.changed({"work.py": marks + program["work.py"]}))
    assert evaluation.correct, evaluation.feedback
    assert evaluation.pairs == 4


@pytest.mark.slow
def test_a_test_that_is_left_out_is_missed(evaluator: RepositoryEvaluator, unchanged: Files) -> None:
    skips = "import sys\nif 'pytest' in sys.modules:\n    import pytest\n    pytest.skip(allow_module_level=True)\n"
    evaluation = evaluator.evaluate(changed(unchanged, search=skips + unchanged[SEARCH]))
    assert evaluation.outcome in (Outcome.INFEASIBLE, Outcome.EXITED)
    assert not evaluation.correct


# -- measuring ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_faster_program_is_found_better_and_an_equal_one_is_not(tmp_path: Path) -> None:
    """By a number that the benchmark prints: what the noise of a busy machine hides is measured by a benchmark of ours
    (`tests.benchmarks.pairs`)."""
    small(tmp_path, measure="metric", metric=r"took ([\d.]+) s", direction="minimise")
    bench = "from work import work\nprint(f'took {8 / getattr(work, \"speed\", 1)} s')\n"
    (tmp_path / "repository" / "bench.py").write_text(bench)
    task = load_task(str(tmp_path))
    unchanged = task.initial_files()
    faster = unchanged.changed({"work.py": unchanged["work.py"] + "\n\nwork.speed = 2\n"})
    with RepositoryEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(faster)
        assert evaluation.correct
        assert evaluation.pairs == 4
        examined = evaluator.examine(faster, evaluation)
        assert examined.against is not None
        assert examined.against.is_better
        assert examined.against.times == pytest.approx(2)
        assert examined.against.pairs in LOOKS
        assert examined.combined_score == examined.against.times
        assert Evaluation.from_json(examined.to_json()).to_json() == examined.to_json()
        best = Incumbent(commit="b" * 40, program=faster, score=examined.combined_score)
        same = faster.changed({"work.py": faster["work.py"] + "# as fast\n"})
        again = evaluator.examine(same, evaluator.evaluate(same), best)
    assert again.correct
    assert again.against is not None
    assert again.against.than == best.commit
    assert not again.against.is_better


@pytest.mark.slow
def test_the_noise_of_this_machine_is_measured_where_the_task_has_none(tmp_path: Path) -> None:
    task = small(tmp_path)
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        program = task.initial_files()
        examined = opened.examine(program, opened.evaluate(program))
    assert examined.spread is not None
    assert examined.spread[0] < 1 < examined.spread[1]
    assert "cannot be distinguished from noise here" in examined.feedback


def test_a_program_adds_no_file_that_decides_its_score(tmp_path: Path) -> None:
    rules = small(tmp_path, edit=["*.py"], new_files=True).program_folder
    assert rules is not None
    refused = ["check.py", "conftest.py", "test_more.py", "sitecustomize.py", "unittest.py", "bench.py"]
    tree = tmp_path / "repository"
    for name in ("check.py", "bench.py"):  # `new` refuses a pattern that matches them
        (tree / name).unlink()
    assert [path for path in ["more.py", *refused] if rules.editable(path)] == ["more.py"]
    assert rules.allowed().endswith(
        "a new one must be no test, configuration, lock file, build script or part of a command"
    )


def test_links_in_a_repository_are_no_files_of_a_program(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "repository" / "data").symlink_to("bench.py")
    task = load_task(str(tmp_path))
    assert [*task.initial_files()] == ["work.py"]
    assert task.program_folder is not None
    assert task.program_folder.frozen_paths() == ["bench.py", "check.py", "data"]
    (tmp_path / "repository" / "work.py").unlink()
    (tmp_path / "repository" / "work.py").symlink_to("bench.py")
    with pytest.raises(TaskError, match=r"work\.py: is a link; let `edit` match the file itself"):
        load_task(str(tmp_path)).initial_files()


@pytest.mark.parametrize(
    ("keys", "score"),
    [
        ({"measure": "metric", "metric": "json:rate.items", "direction": "maximise"}, 2.0),
        ({"measure": "metric", "metric": r"took ([\d.]+) s", "direction": "minimise"}, 4.0),
    ],
)
def test_a_printed_number_is_read_and_is_self_judged(tmp_path: Path, keys: dict[str, object], score: float) -> None:
    task = small(tmp_path, **keys)
    bench = (
        "import json\nfrom work import work\nspeed = getattr(work, 'speed', 1)\n"
        "print(f'took {8 / speed ** 2} s')\nprint(json.dumps({'rate': {'items': 100 * speed}}))\n"
    )
    (tmp_path / "repository" / "bench.py").write_text(bench)
    task = load_task(str(tmp_path))
    program = task.initial_files()
    evaluation = evaluated(task, program.changed({"work.py": program["work.py"] + "\n\nwork.speed = 2\n"}))
    assert evaluation.correct, evaluation.feedback
    assert evaluation.self_judged
    assert evaluation.combined_score == pytest.approx(score)


@pytest.mark.parametrize(
    ("prints", "metric", "says"),
    [
        ("'a' * 60 + 'b'", "(a+)+$", "metric: the regular expression '(a+)+$' takes more than 2 s on what was printed"),
        ("5e-324", r"^\d.*", "the benchmark printed no number between 1e-40 and 1e+40 for"),
    ],
)
def test_a_printed_text_or_number_without_measure_is_a_failure(
    tmp_path: Path, prints: str, metric: str, says: str
) -> None:
    small(tmp_path, measure="metric", metric=metric, direction="minimise")
    (tmp_path / "repository" / "bench.py").write_text(f"print({prints})\n")
    task = load_task(str(tmp_path))
    evaluation = evaluated(task, task.initial_files())
    assert evaluation.outcome is Outcome.INVALID_OUTPUT
    assert says in evaluation.detail


def test_peak_memory_can_be_the_measure(tmp_path: Path) -> None:
    task = small(tmp_path, measure="memory")
    program = task.initial_files()
    more = "HELD = bytearray(60_000_000)\n"
    evaluation = evaluated(task, program.changed({"work.py": more + program["work.py"]}))
    assert evaluation.correct, evaluation.feedback
    assert evaluation.metrics["benchmark"] > 60
    assert 0.05 < evaluation.combined_score < 0.7
    assert evaluation.objective.metric == "memory_gain"


# -- a library in C ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("make") is None, reason="no compiler")
def test_a_library_in_c_is_built_for_each_program(tmp_path: Path) -> None:
    task = in_c(tmp_path)
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        program = task.initial_files()
        evaluation = opened.evaluate(program)
        assert evaluation.correct, evaluation.feedback
        assert evaluation.metrics["tests"] == 3
        source = program["src/sum.c"]
        faster = opened.evaluate(program.changed({"src/sum.c": source.replace("rounds = 200", "rounds = 1")}))
        assert faster.correct, faster.feedback
        assert faster.combined_score > 2
        broken = opened.evaluate(program.changed({"src/sum.c": source.replace("total +=", "total ==")}))
        assert broken.outcome is Outcome.INFEASIBLE
        assert "adds" in broken.detail
        unbuilt = opened.evaluate(program.changed({"src/sum.c": "int sum("}))
        assert unbuilt.outcome is Outcome.EXITED
        assert unbuilt.detail.startswith("build: ")
        assert "sum.c:1" in unbuilt.feedback
        assert list(unused_files(opened.commands)) == []


# -- proof -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_file_of_the_example_is_what_runs(evaluator: RepositoryEvaluator) -> None:
    assert list(unused_files(evaluator.commands)) == []


def test_a_file_that_does_not_run_is_found(tmp_path: Path) -> None:
    task = small(tmp_path, edit=["*.py"])
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        assert list(unused_files(opened.commands)) == []
    (tmp_path / "repository" / "spare.py").write_text("pass\n")
    task = load_task(str(tmp_path))
    with RepositoryEvaluator(task, task.suite(), workers=1) as opened:
        assert list(unused_files(opened.commands)) == [("spare.py", None)]


# -- the contract ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"measure": "metric"}, "repository.metric is missing"),
        ({"measure": "metric", "metric": "("}, "regular expression"),
        ({"metric": "x"}, "repository.metric has no place"),
        ({"edit": ["nothing/*.py"]}, "no file matches `edit`"),
        ({"bench": " "}, "repository.bench"),
    ],
)
def test_what_is_wrong_with_a_task_is_said(tmp_path: Path, keys: dict[str, object], says: str) -> None:
    with pytest.raises(TaskError, match=says.replace("(", r"\(").replace("*", r"\*")) as raised:
        small(tmp_path, **keys).initial_files()
    assert str(tmp_path) in str(raised.value)


def test_all_that_decides_a_score_is_in_the_version(tmp_path: Path) -> None:
    task = small(tmp_path)

    def digest(**keys: object) -> str:
        repository = task.repository
        assert repository is not None
        return Repository.digest(replace(repository, **keys))  # type: ignore[arg-type]

    digests = [digest(), digest(test="true"), digest(bench="true"), digest(tests=3), digest(edit=("*.py",))]
    (tmp_path / "repository" / "check.py").write_text("pass\n")
    digests.append(digest())
    assert len(set(digests)) == len(digests)
