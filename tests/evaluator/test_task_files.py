"""A task's folder: one form for those that ship and one's own, read whole, and refused by key and value."""

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import TaskError
from evaluator.places import PROGRAMS, PROMPTS
from evaluator.task import Task
from evaluator.task_files import built_in_tasks, load_task


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
    assert built_in_tasks() == [
        "autocorrelation",
        "bin_packing",
        "cant_be_late",
        "circle_packing",
        "cloudcast",
        "erdos_overlap",
        "placement",
        "tours",
        "txn_scheduling",
    ]
    assert changed(name="placement").prompt_text == "Return the index of the smallest item."
    (folder / "prompt.md").write_text("\nFind the smallest.\n")
    assert changed(name="placement").prompt_text == "Find the smallest."
    (folder / "words.md").write_text("In other words.")
    assert changed(prompt="words.md").prompt_text == "In other words."
    assert changed(prompt="prompts:tasks/placement.md").prompt_text == load_task("placement").prompt_text


REFUSED = [
    (
        {"initial": "programs:none.py"},
        r"line \d+: initial is 'programs:none\.py', and there is no file .*/none\.py",
    ),
    ({"initial": "nowhere.py"}, r"initial is 'nowhere\.py', and there is no file .*/smallest/nowhere\.py"),
    ({"ingredients": "initial.py"}, r"ingredients is 'initial\.py', and there is no folder"),
    ({"prompt": "none.md"}, r"prompt is 'none\.md', and there is no file"),
    ({"promt": "x"}, r"unknown key 'promt' \(did you mean 'prompt'\?\)"),
    ({"default_suite": "six"}, "default_suite 'six' is not among its suites"),
    ({"packages": 1}, "packages: must be a list, not 1"),
]


@pytest.mark.parametrize(("keys", "message"), REFUSED, ids=[str(keys) for keys, _ in REFUSED])
def test_what_is_wrong_is_named_with_its_key_and_value(
    changed: Callable[..., Task], keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaskError, match=message):
        changed(**keys)


def test_a_text_that_is_none_is_refused(changed: Callable[..., Task], folder: Path) -> None:
    (folder / "prompt.md").write_bytes(b"\xff\xfe")
    with pytest.raises(TaskError, match=r"prompt\.md: the prompt is not UTF-8 text \(byte 0\)"):
        changed()


BOUNDS = [
    (
        [{"lower_bound": "one"}],
        r"bounds\[0\]\.lower_bound: must be .*, or a fraction such as '3/7', not 'one'",
    ),
    ([{"lower_bound": "1/0"}], r"bounds\[0\]\.lower_bound: must be .* not '1/0'"),
    ([{}, {"lower_bound": float("nan")}], r"bounds\[1\]\.lower_bound: must be .* not nan"),
    ([{"lower_bound": "1e400"}], r"bounds\[0\]\.lower_bound: must be .* not '1e400'"),
    ([{"lower_bound": True}], r"bounds\[0\]\.lower_bound: must be .* not True"),
    ([{"bound": 3}], r"unknown key 'bounds\[0\]\.bound'"),
    ([{"proven": True}], r"bounds\[0\]\.lower_bound is missing"),
    ([{"lower_bound": 1, "proven": "yes"}], r"bounds\[0\]\.proven: must be a valid boolean, not 'yes'"),
]


@pytest.mark.parametrize(("entries", "message"), BOUNDS, ids=[str(entries) for entries, _ in BOUNDS])
def test_bounds_that_are_none_are_refused_with_file_and_place(
    changed: Callable[..., Task], folder: Path, entries: list[dict[str, Any]], message: str
) -> None:
    (folder / "bounds.json").write_text(json.dumps({"bounds": [*entries, *[{}] * (5 - len(entries))]}))
    with pytest.raises(TaskError, match=r"/smallest/bounds\.json: " + message):
        changed().suite()


def test_instances_that_are_none_are_refused(changed: Callable[..., Task], folder: Path) -> None:
    for text, message in (
        ("[" * 100_000, "is not JSON"),
        ("{", "is not JSON"),
        ('{"instances": []}', "must hold a non-"),
    ):
        (folder / "instances.json").write_text(text)
        with pytest.raises(TaskError, match=message):
            changed().suite()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *itertools.product(["cpu_per_instance_s", "cpu_total_s", "memory_mb"], [-1, 0, 10**30]),
        *itertools.product(["cpu_per_instance_s", "cpu_total_s"], [-0.5, float("nan"), float("inf")]),
    ],
)
def test_a_limit_that_limits_nothing_is_refused_by_its_key(
    changed: Callable[..., Task], key: str, value: float
) -> None:
    limits = {"cpu_per_instance_s": 0.4, "cpu_total_s": 1.0, "memory_mb": 512} | {key: value}
    with pytest.raises(
        TaskError,
        match=rf"suites\.five\.limits\.{key}: must be (greater than 0|less than or equal to \d+|a finite number), not ",
    ):
        changed(suites={"five": {"instances": "instances.json", "limits": limits}})


@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "", ".hidden", "..", "-x", "two words", "a\nb", "x" * 101, "\u202e", "a\\b", "$x"]
)
def test_a_name_that_is_no_plain_name_is_refused(changed: Callable[..., Task], name: str) -> None:
    """It becomes the name of a folder."""
    with pytest.raises(TaskError, match=r"task\.yaml line \d+: name: must be a plain name of at most 100"):
        changed(name=name)
    limits = {"cpu_per_instance_s": 0.4, "cpu_total_s": 1.0, "memory_mb": 512}
    suites = {name: {"instances": "instances.json", "limits": limits}}
    with pytest.raises(TaskError, match=r"suites\..*: must be a plain name of at most 100"):
        changed(suites=suites, default_suite=name)


def test_plain_names_are_taken(changed: Callable[..., Task]) -> None:
    for name in ("placement", "tsp-100", "v1.2_final", "_x", "7"):
        assert changed(name=name).name == name


def test_an_entry_point_that_is_no_name_is_refused(changed: Callable[..., Task]) -> None:
    with pytest.raises(TaskError, match="entry_point: must be the name of a function, not 'a b'"):
        changed(entry_point="a b")


@pytest.mark.parametrize("name", ["x" * 5000, "../nowhere", "\0"])
def test_a_task_that_is_none_is_one_sentence(name: str) -> None:
    with pytest.raises(TaskError, match="there is no task"):
        load_task(name)
