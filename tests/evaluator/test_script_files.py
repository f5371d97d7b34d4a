"""What an evaluator script, and so a program, may read of the task's folder: at each level."""

import json
from pathlib import Path

import pytest

from evaluator.errors import SandboxError, TaskError
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.places import PROGRAMS
from evaluator.sandbox.options import SandboxOptions
from evaluator.task import Task
from evaluator.task_files import load_task
from tests.builders import one_file
from tests.script_folders import MIRROR, make_folder

LOOKS = """
# EVOLVE-BLOCK-START
def result():
    import json, os, sys
    folder, seen = os.path.dirname(sys.argv[0]), []
    for name in {names!r}:
        try:
            with open(os.path.join(folder, name)) as file:
                file.read()
            seen.append(name)
        except OSError:
            pass
    return json.dumps({{"correct": True, "combined_score": len(seen), "answers": [1], "feedback": " ".join(seen)}})
# EVOLVE-BLOCK-END
"""
JUDGE = "INSTANCES = [1]\n\n\ndef judge(instance, answer):\n    return answer\n"


@pytest.fixture(params=["strong", "standard"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    if request.param == "standard":
        monkeypatch.setenv("PATH", str(tmp_path))  # where no bubblewrap is found
    return str(request.param)


def opened(task: Task, level: str) -> OpenedEvaluator:
    try:
        return open_evaluator(task, task.suite(), workers=1, confined=SandboxOptions(require_level=level))
    except SandboxError as cause:
        pytest.skip(str(cause))


def seen(task: Task, level: str, names: list[str]) -> list[str]:
    with opened(task, level) as evaluator:
        found = evaluator.evaluate(one_file(LOOKS.format(names=names)))
    assert found.correct, found.detail
    words = found.feedback.split()
    return [name for name in names if name in words]


def files(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")
    return folder


def test_where_a_judge_decides_neither_judge_nor_instances_nor_bounds_can_be_read(tmp_path: Path, level: str) -> None:
    folder = files(make_folder(tmp_path / "mine", script_files=["data", "helper.py"]), "data/table.csv", "helper.py")
    (folder / "judge.py").write_text(JUDGE)
    others = ["judge.py", "task.yaml", "initial.py", "bounds.json", "held_out.json", "runs/r/journal.jsonl", ".env"]
    files(folder, *others[3:])
    allowed = ["evaluate.py", "data/table.csv", "helper.py"]
    assert seen(load_task(str(folder)), level, [*others, *allowed]) == allowed


def test_without_a_judge_runs_and_hidden_files_cannot_be_read(tmp_path: Path, level: str) -> None:
    folder = files(make_folder(tmp_path / "mine"), "data/table.csv", "runs/r/journal.jsonl", ".env", ".git/config")
    names = ["runs/r/journal.jsonl", ".env", ".git/config", "evaluate.py", "data/table.csv"]
    assert seen(load_task(str(folder)), level, names) == ["evaluate.py", "data/table.csv"]


def test_the_published_answers_cannot_be_read(tmp_path: Path, level: str) -> None:
    records = [str(path) for path in PROGRAMS.glob("*/records/*.json")]
    assert len(records) == 7
    folder = make_folder(tmp_path / "mine")
    assert seen(load_task(str(folder)), level, [*records, "evaluate.py"]) == ["evaluate.py"]


def test_a_module_next_to_the_script_is_imported(tmp_path: Path, level: str) -> None:
    folder = make_folder(tmp_path / "mine", evaluate=f"import helper\n{MIRROR}")
    (folder / "helper.py").write_text("HELPED = 1\n")
    assert seen(load_task(str(folder)), level, ["helper.py"]) == ["helper.py"]


@pytest.mark.parametrize("level", ["strong", pytest.param("standard", marks=pytest.mark.slow)], indirect=True)
def test_the_held_out_suite_of_a_task_that_ships_cannot_be_read(level: str) -> None:
    task = load_task("tours")
    assert task.script is not None
    program = task.initial.read_text().replace(
        "int main(void)",
        'static void peek(const char *name) { FILE *f = fopen(name, "r"); if (f) exit(66); }\nint main(void)',
    )
    for name in ("suites/points-holdout.json", "suites/points.json", "judge.py"):
        place = json.dumps(str(task.folder / name))
        reading = program.replace("int main(void)\n{", f"int main(void)\n{{\n    peek({place});", 1)
        assert reading != program
        with opened(task, level) as evaluator:
            assert evaluator.evaluate(one_file(reading)).correct, name


@pytest.mark.parametrize("name", ["../other.py", "missing.py", ".", "/etc/passwd"])
def test_what_is_named_must_be_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.py").write_text("")
    folder = make_folder(tmp_path / "mine", script_files=[name])
    with pytest.raises(TaskError, match=r"task\.yaml line \d+: script_files holds .*; there is no such file or folder"):
        load_task(str(folder))
