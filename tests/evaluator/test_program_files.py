"""Programs of several files: the value, and the tasks that have them."""

from pathlib import Path

import pytest
import yaml

from evaluator.errors import TaskError
from evaluator.evaluation import Outcome
from evaluator.opening import open_evaluator
from evaluator.program_files import MOST_FILE_BYTES, Files, matches, path_fault
from evaluator.task_files import load_task
from tests.several_files import FILES, make_folder


def test_files_are_equal_by_content_and_sorted() -> None:
    files = Files.of({"b.py": "2", "a/c.py": "1"})
    assert [*files] == ["a/c.py", "b.py"]
    assert files == Files((("b.py", "2"), ("a/c.py", "1"))) and hash(files) == hash(Files.of(dict(files)))
    assert Files.of(files.to_json()) == files != files.changed({"b.py": "3"})
    assert files.changed({"b.py": None}).only == "1"
    assert files.length == 2
    with pytest.raises(TypeError, match="a program of 2 files has no single text"):
        _ = files.only


BAD = ["", "/a", "a//b", "a/", "./a", "../a", "a/../b", "a\\b", "a\nb", " a", ".git/config", "a/.GIT/b"]


@pytest.mark.parametrize("path", [*BAD, "x" * 201, "\ud800", "a/" + "é" * 128])
def test_a_path_stays_within_the_program(path: str) -> None:
    assert path_fault(path)
    with pytest.raises(ValueError, match="the path"):
        Files.single(path, "")


@pytest.mark.parametrize("texts", [{}, {"a": "1", "a/b": "2"}, {"a/b": "1", "a/b/c/d": "2"}])
def test_files_that_cannot_be_in_one_folder_are_no_program(texts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="file"):
        Files.of(texts)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py"], ["a/b.py", "a.c"]),
        ("src/**/*.py", ["src/a.py", "src/a/b/c.py"], ["a.py", "src/a.c"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "srcs/a"]),
        ("**", ["a", "a/b"], []),
        ("a?/[bc].py", ["ax/b.py"], ["a/b.py", "ax/d.py"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert all(matches(path, pattern) for path in yes)
    assert not any(matches(path, pattern) for path in no)


def test_a_script_gets_the_folder_with_the_files_that_may_not_change(tmp_path: Path) -> None:
    task = load_task(str(make_folder(tmp_path / "task")))
    initial = task.initial_files()
    assert initial == Files.of(FILES)
    with open_evaluator(task, task.suite(), workers=1) as evaluator:
        assert evaluator.evaluate(initial).combined_score == 0.5 * 4.75 + 2.5 + 1
        frozen = evaluator.evaluate(initial.changed({"fixed.py": "BASE = 9\n"}))
        assert (frozen.outcome, frozen.detail) == (
            Outcome.LOAD_ERROR,
            "fixed.py is not among the files that a program may have (`edit`)",
        )
        large = evaluator.evaluate(initial.changed({"main.py": "#" * (MOST_FILE_BYTES + 1)}))
        assert large.detail.startswith(f"main.py has {MOST_FILE_BYTES + 1} bytes; a file may have at most")
        broken = evaluator.evaluate(initial.changed({"pkg/parts.py": "raise ValueError('no')\n"}))
        assert broken.outcome is Outcome.EXITED
        assert 'program/pkg/parts.py", line 1' in broken.feedback


def test_a_frozen_file_decides_the_version_and_an_editable_one_does_not(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "task")
    digest = load_task(str(folder)).digest
    (folder / "initial/main.py").write_text("def score():\n    return 1\n")
    assert load_task(str(folder)).digest == digest
    (folder / "initial/fixed.py").write_text("BASE = 2\n")
    assert load_task(str(folder)).digest != digest


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"edit": ["*.c"]}, r"initial: no file matches `edit` \(\*\.c\)"),
        ({"edit": []}, "edit"),
        ({"edit": ["../x"]}, "must be a path in the folder"),
        ({"initial": "."}, "is the task's own folder; put the program into a folder of its own"),
        ({"initial": "evaluate.py", "new_files": True}, "edit is for an initial program that is a folder"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path, keys: dict[str, object], message: str) -> None:
    folder = make_folder(tmp_path / "task")
    stated = yaml.safe_load((folder / "task.yaml").read_text())
    (folder / "task.yaml").write_text(yaml.safe_dump(stated | keys))
    with pytest.raises(TaskError, match=message):
        load_task(str(folder))


def test_without_a_script_a_program_is_one_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "task")
    (folder / "evaluate.py").unlink()
    (folder / "judge.py").write_text("INSTANCES = [1]\n\n\ndef judge(instance, answer):\n    return 1\n")
    with pytest.raises(TaskError, match=r"without an evaluator script .* a program is one file"):
        load_task(str(folder))


def test_links_and_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "task")
    (folder / "initial/pkg/odd.py").write_bytes(b"\xff")
    with pytest.raises(TaskError, match=r"odd\.py: is not UTF-8 text"):
        load_task(str(folder))
    (folder / "initial/pkg/odd.py").unlink()
    (folder / "initial/link.py").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match=r"link\.py: is a link"):
        load_task(str(folder))
