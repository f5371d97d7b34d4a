"""YAML that is small as text and not when it is read is refused in one sentence."""

import os

import pytest

from evaluator.errors import TaskError
from evaluator.yaml_file import parse_mapping, parse_value, read_mapping

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "line 2: is not valid YAML .an alias within an anchor"),
        ("a: &a {b: *a}", "an alias within an anchor"),
        ("a: &a 1\nb: [" + "*a, " * 200 + "]", "more than 100 aliases"),
        ("a: " + "[" * 60, "nested more than 50 deep"),
        ("a: " + "[" * 100_000, "nested more than 50 deep|exceeded maximum nesting depth"),  # libyaml has its own limit
        ("a: " + "9" * 5000, "a number of more than 1000 digits"),
        ("a: 1" + ":1" * 100_000, "a number of more than 1000 digits"),
        ("a: 2020-13-45", "month must be in 1..12"),
        ("a: " + "x" * 2_000_000, "more than 1 MB of text"),
    ],
)
def test_a_bomb_is_refused(text: str, why: str) -> None:
    with pytest.raises(TaskError, match=why) as caught:
        parse_mapping(text, "task.yaml")
    assert len(str(caught.value)) < 500


def test_a_plain_anchor_is_no_bomb() -> None:
    assert parse_mapping("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n", "o")["c"] == {"x": 1, "y": 2}
    with pytest.raises(ValueError, match="is not a YAML value"):
        parse_value("[" * 100_000)


def test_a_file_without_end_is_not_read(tmp_path) -> None:
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(TaskError, match="is larger than 1 MB"):
        read_mapping(tmp_path / "large.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(TaskError, match="is not a file"):
        read_mapping(tmp_path / "pipe.yaml")


FOREIGN = """
made: !!python/object:a.module.Class {x: 1, inner: !!python/tuple [1, 2]}
run: !!python/object/apply:os.mkdir ["made"]
name: !!python/name:os.system
custom: !thing [a, !other b]
"""


def test_of_another_programs_tags_the_data_is_taken_and_nothing_is_built(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match="could not determine a constructor"):
        parse_mapping(FOREIGN, "task.yaml")
    assert parse_mapping(FOREIGN, "theirs.yaml", foreign=True) == {
        "made": {"x": 1, "inner": [1, 2]},
        "run": ["made"],
        "name": "",
        "custom": ["a", "b"],
    }
    assert list(tmp_path.iterdir()) == []
    for text, why in (("a: !x {b: 1, b: 2}", "stands twice"), ("a: &a !x [*a]", "an alias within an anchor")):
        with pytest.raises(TaskError, match=why):
            parse_mapping(text, "theirs.yaml", foreign=True)
