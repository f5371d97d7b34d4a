"""The evaluator's version: the same while the same verdicts come of it, another as soon as they may not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import evaluator
from evaluator import version
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.version import version_of


def of(task: Task) -> str:
    return version_of(task, task.suite())


def test_a_comment_in_the_evaluator_changes_nothing(tmp_path: Path) -> None:
    package = Path(evaluator.__file__).parent
    copy = shutil.copytree(package, tmp_path / "evaluator", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("programs", "prompts"):
        shutil.copytree(package.parent / folder, tmp_path / folder)
    for path in [*copy.glob("*.py"), *copy.glob("sandbox/*.py")]:
        path.write_text(path.read_text() + "\n# a comment\n")
    script = (
        "import evaluator; from evaluator.task_files import load_task; from evaluator.version import version_of\n"
        "task = load_task('placement'); print(evaluator.__file__, version_of(task, task.suite()))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert output == [str(copy / "__init__.py"), of(load_task("placement"))]


CHANGES: dict[str, Callable[[Path], None]] = {
    "judge": lambda folder: _append(folder / "judge.py", "# another judge\n"),
    "a helper of the judge": lambda folder: _append(folder / "helper.py", "WORTH = 3\n"),
    "a helper of a helper": lambda folder: _append(folder / "deeper.py", "MORE = 3\n"),
    "adapter": lambda folder: _append(folder / "adapter.py", "# another adapter\n"),
    "entry point": lambda folder: _replace(folder / "task.yaml", "entry_point: smallest", "entry_point: least"),
    "a limit": lambda folder: _replace(folder / "task.yaml", "memory_mb: 512", "memory_mb: 511"),
    "instances": lambda folder: _replace(folder / "instances.json", "[", "[ "),
    "bounds": lambda folder: _replace(folder / "bounds.json", "[", "[ "),
    "packages": lambda folder: _append(folder / "task.yaml", "packages: [numpy]\n"),
}
HARMLESS: dict[str, Callable[[Path], None]] = {
    "the suite's name": lambda folder: _replace(folder / "task.yaml", "five:", "six:", "suite: five", "suite: six"),
    "description": lambda folder: _replace(folder / "task.yaml", "Return the", "Give the"),
    "prompt": lambda folder: _append(folder / "prompt.md", "Do it.\n"),
    "initial program": lambda folder: _append(folder / "initial.py", "# a comment\n"),
    "a module that nobody imports": lambda folder: _append(folder / "unused.py", "x = 1\n"),
    "a comment in task.yaml": lambda folder: _append(folder / "task.yaml", "# a comment\n"),
}


def _append(path: Path, text: str) -> None:
    path.write_text((path.read_text() if path.exists() else "") + text)


def _replace(path: Path, *pairs: str) -> None:
    text = path.read_text()
    for before, after in zip(pairs[::2], pairs[1::2], strict=True):
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)


@pytest.fixture
def helped(folder: Path) -> Path:
    """The task with helpers and an adapter."""
    _append(folder / "judge.py", "\n\ndef unused():\n    import helper\n    return helper.WORTH\n")
    _append(folder / "helper.py", "from deeper import MORE\nWORTH = 1\n")
    _append(folder / "deeper.py", "MORE = 1\n")
    _append(folder / "adapter.py", "def prepare(instance):\n    return (instance['items'],), lambda answer: answer\n")
    return folder


@pytest.mark.parametrize("what", [*CHANGES, *HARMLESS])
def test_what_decides_a_verdict_changes_the_version_and_nothing_else_does(helped: Path, what: str) -> None:
    before = of(load_task(str(helped)))
    (CHANGES | HARMLESS)[what](helped)
    assert (of(load_task(str(helped))) != before) == (what in CHANGES)


def test_another_numpy_is_another_version(smallest: Task, with_numpy: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    before = of(with_numpy)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.0")
    assert of(with_numpy) != before
    now = of(smallest)
    monkeypatch.undo()
    assert of(smallest) == now


def test_the_constant_stands_in_front(smallest: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(smallest).startswith(f"{version.VERDICTS}-")
    monkeypatch.setattr(version, "VERDICTS", version.VERDICTS + 1)
    assert of(smallest).startswith(f"{version.VERDICTS}-")
