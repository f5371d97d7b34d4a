"""The folder of a task with an evaluator script: what may stand there, and what its version is made of."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import TaskError
from evaluator.objective import COMBINED, Direction
from evaluator.task_files import load_task
from evaluator.version import version_of
from tests.script_folders import GOOD, make_folder, make_task

JUDGE = """
INSTANCES = [1, 2]


def judge(instance, answer):
    return answer
"""
CONVERSING = """
INSTANCES = [1]


def converse(instance):
    yield 1
    return 1
"""


def version(folder: Path) -> str:
    task = load_task(str(folder))
    return version_of(task, task.suite())


def test_a_script_and_a_program_are_enough(tmp_path: Path) -> None:
    task = make_task(tmp_path / "mine")
    assert task.self_judged
    assert task.script is not None
    assert (task.script.path.name, task.script.program_name) == ("evaluate.py", "program.py")
    assert (task.objective.metric, task.objective.direction) == (COMBINED, Direction.MAXIMISE)
    (instance,) = task.suite().instances
    assert (instance.data, instance.bound) == (None, None)
    limits = task.suite().limits
    assert (limits.wall_total_s, limits.cpu_total_s, limits.memory_mb, limits.scratch_mb) == (300, 600, 2048, 256)
    assert task.entry_point == ""


def test_a_judge_next_to_it_makes_it_judged_from_outside(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    assert load_task(str(folder)).self_judged
    (folder / "judge.py").write_text(JUDGE)
    task = load_task(str(folder))
    assert task.script is not None
    assert not task.self_judged
    assert task.objective.metric == "score"
    assert [instance.data for instance in task.suite().instances] == [1, 2]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"script": "none.py"}, r"script is 'none\.py', and there is no file"),
    ({"script": "../elsewhere.py"}, r"script is '\.\./elsewhere\.py'; it must lie in the task's folder"),
    ({"script": "initial.txt"}, r"script is 'initial\.txt', which is neither Python \(\.py\) nor executable"),
    ({"program_name": "a/b.py"}, r"program_name: must be the plain name of a file, .* not 'a/b\.py'"),
    ({"program_name": ".hidden"}, r"program_name: must be the plain name"),
    ({"environment": ["KEY=1"]}, r"environment\[0\]: must be the name of a variable \(not a value\), not 'KEY=1'"),
    (
        {"environment": ["HOME"]},
        r"environment\[0\]: must be a variable that the sandbox does not set itself, not 'HOME'",
    ),
    ({"environment": "KEY"}, r"environment: must be a list, not 'KEY'"),
    ({"uses_clock": True}, r"uses_clock is true, and an evaluator script runs the programs"),
    ({"reference": "initial.py"}, r"reference is only for tasks with"),
    (
        {"limits": {"cpu_per_instance_s": 1}},
        r"limits\.cpu_per_instance_s limits nothing here: a command has cpu_total_s",
    ),
    ({"limits": {"cpu_per_item_s": 1}}, r"limits\.cpu_per_item_s limits nothing here"),
    ({"limits": {"answer_kb": 1}}, r"limits\.answer_kb has no place without judge\.py"),
    ({"limits": {"wall_s": 0}}, r"limits\.wall_s: must be greater than 0, not 0"),
    ({"limits": {"scratch_mb": 1.5}}, r"limits\.scratch_mb: must be a valid integer, not 1\.5"),
    ({"objective": {"per_instance": "minimise"}}, r"objective\.per_instance has no place without judge\.py"),
    ({"objective": {"direction": "minimise"}}, r"objective\.direction is minimise, and combined_score is better"),
    (
        {"suites": {"a": {"instances": "a.json"}}},
        r"suites\.a\.instances has no place without judge\.py: the script scores",
    ),
    ({"suites": {"a": {"bounds": "a.json"}}}, r"suites\.a\.bounds has no place without judge\.py"),
    ({"suites": {"a": {"held_out": "b"}, "b": {}}}, r"suites\.a\.held_out has no place without judge\.py"),
    (
        {"suites": {"a": {"best_known": [{"value": 1, "source": "s", "instance": 0}]}}},
        r"best_known\[0\]\.instance has no place without judge\.py",
    ),
]


@pytest.mark.parametrize(("keys", "message"), REFUSED, ids=[str(keys) for keys, _ in REFUSED])
def test_what_does_not_fit_is_refused_by_key_and_value(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    (tmp_path / "elsewhere.py").write_text("")
    folder = make_folder(tmp_path / "mine", **keys)
    (folder / "initial.txt").write_text("")
    with pytest.raises(TaskError, match=message):
        load_task(str(folder))


@pytest.mark.parametrize(
    "keys", [{"program_name": "p.py"}, {"environment": ["KEY"]}, {"limits": {"wall_s": 9}}], ids=str
)
def test_keys_of_scripts_have_no_place_elsewhere(tmp_path: Path, keys: dict[str, Any]) -> None:
    folder = make_folder(tmp_path / "mine", **keys)
    (folder / "evaluate.py").unlink()
    (folder / "judge.py").write_text(JUDGE)
    with pytest.raises(TaskError, match=next(iter(keys))):
        load_task(str(folder))


def test_an_adapter_or_a_judge_that_asks_item_by_item_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "a")
    (folder / "adapter.py").write_text("")
    with pytest.raises(TaskError, match=r"adapter\.py: is not used by a script"):
        load_task(str(folder))
    folder = make_folder(tmp_path / "b")
    (folder / "judge.py").write_text(CONVERSING)
    with pytest.raises(TaskError, match="asks item by item"):
        load_task(str(folder))


def test_best_known_values_of_the_metric_and_limits_of_a_suite_stand(tmp_path: Path) -> None:
    known = [{"value": 2.5, "source": "A. Author", "date": "2025-01-01"}]
    task = make_task(
        tmp_path / "mine",
        objective={"metric": "points", "direction": "maximise"},
        suites={"default": {"best_known": known, "limits": {"wall_s": 7}}},
    )
    suite = task.suite()
    assert float(suite.best_known[0].value) == 2.5
    assert (suite.limits.wall_total_s, suite.limits.memory_mb) == (7, 2048)


def test_whatever_the_script_may_read_is_part_of_the_version_and_nothing_else_is(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    before = version(folder)
    for unread in ("prompt.md", "__pycache__/x.pyc", "runs/r/run.yaml", ".git/config", "ingredients/one.py"):
        (folder / unread).parent.mkdir(parents=True, exist_ok=True)
        (folder / unread).write_text("# other\n")
    (folder / "initial.py").write_text(GOOD + "# other\n")
    assert version(folder) == before
    seen = {before}
    for read in ("data/points.csv", "helper.py", "evaluate.py"):
        (folder / read).parent.mkdir(exist_ok=True)
        (folder / read).write_text("# other\n")
        assert version(folder) not in seen
        seen.add(version(folder))
    for keys in (
        "program_name: x.py\n",
        "environment: [KEY]\n",
        "limits: {wall_s: 10}\n",
        "limits: {scratch_mb: 10}\n",
    ):
        (folder / "task.yaml").write_text(keys)
        assert version(folder) not in seen
        seen.add(version(folder))


def test_a_link_in_the_folder_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    (folder / "data").mkdir()
    (folder / "data" / "secrets").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match=r"data/secrets: is a link"):
        load_task(str(folder))


def test_a_folder_that_holds_too_much_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    with (folder / "large.bin").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(TaskError, match="holds more than 2000 files or 64 MB"):
        load_task(str(folder))
