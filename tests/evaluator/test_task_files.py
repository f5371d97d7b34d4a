"""A task's folder: one form for those that ship and one's own, read whole, and refused by key and value."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator.errors import TaskError
from evaluator.places import PROGRAMS, PROMPTS
from evaluator.task import Task
from evaluator.task_files import built_in_tasks, load_task

SMALLEST = Path(__file__).parent.parent / "data" / "smallest"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the task `smallest`, for a test to change."""
    return Path(shutil.copytree(SMALLEST, tmp_path / "smallest", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def changed(folder: Path) -> Callable[..., Task]:
    """Loads the copy with keys of its `task.yaml` replaced."""

    def load(**keys: Any) -> Task:
        path = folder / "task.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load((SMALLEST / "task.yaml").read_text()) | keys))
        return load_task(str(folder))

    return load


def test_what_ships_and_what_is_ones_own_is_named_in_one_form(changed: Callable[..., Task], folder: Path) -> None:
    shipped = load_task("placement")
    assert shipped.initial == PROGRAMS / "placement" / "initial.py"
    assert shipped.ingredients == PROGRAMS / "placement" / "ingredients"
    assert shipped.prompt_text == (PROMPTS / "tasks" / "placement.md").read_text().strip()
    assert changed().initial == folder / "initial.py"
    assert changed(initial="programs:placement/initial.py").initial == shipped.initial


def test_a_shipped_task_that_is_copied_anywhere_is_the_same_task(tmp_path: Path) -> None:
    shipped = load_task("placement")
    copy = load_task(str(shutil.copytree(shipped.folder, tmp_path / "mine")))
    assert (copy.digest, copy.initial, copy.prompt_text) == (shipped.digest, shipped.initial, shipped.prompt_text)
    assert copy.suite().digest == shipped.suite().digest


def test_the_text_for_models_is_the_tasks_own_and_never_found_by_its_name(
    changed: Callable[..., Task], folder: Path
) -> None:
    assert built_in_tasks() == ["placement"]
    assert changed(name="placement").prompt_text == "Return the index of the smallest item."
    (folder / "prompt.md").write_text("\nFind the smallest.\n")
    assert changed(name="placement").prompt_text == "Find the smallest."
    (folder / "words.md").write_text("In other words.")
    assert changed(prompt="words.md").prompt_text == "In other words."
    assert changed(prompt="prompts:tasks/placement.md").prompt_text == load_task("placement").prompt_text


REFUSED = [
    ({"initial": "programs:none.py"}, r"task\.yaml: initial is 'programs:none\.py', and there is no file .*/none\.py"),
    ({"initial": "nowhere.py"}, r"initial is 'nowhere\.py', and there is no file .*/smallest/nowhere\.py"),
    ({"ingredients": "initial.py"}, r"ingredients is 'initial\.py', and there is no folder"),
    ({"prompt": "none.md"}, r"prompt is 'none\.md', and there is no file"),
    ({"promt": "x"}, r"unknown key 'promt' \(did you mean 'prompt'\?\)"),
    ({"default_suite": "six"}, "default_suite 'six' is not among its suites"),
    ({"numpy": 1}, r"numpy has the wrong type \(int: 1\)"),
]


@pytest.mark.parametrize(("keys", "said"), REFUSED, ids=[str(keys) for keys, _ in REFUSED])
def test_what_is_wrong_is_named_with_its_key_and_value(
    changed: Callable[..., Task], keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(TaskError, match=said):
        changed(**keys)


def test_a_text_that_is_none_is_refused(changed: Callable[..., Task], folder: Path) -> None:
    (folder / "prompt.md").write_bytes(b"\xff\xfe")
    with pytest.raises(TaskError, match=r"prompt\.md is not UTF-8 text \(byte 0\)"):
        changed()
