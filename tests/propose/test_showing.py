"""What a prompt shows of the files of a program."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.program_files import Files
from evolve.core.completion import estimate_tokens
from evolve.propose.showing import shown_files
from tests.several_files import many


def test_what_fits_is_shown_whole_and_what_is_near_stands_first() -> None:
    files = Files.of({"a.py": "x = 1\n", "b.c": "int x;\n", "d/e.py": "y = 2\n"})
    shown = shown_files(files, 1000, ["d/e.py"], 0)
    assert [file.path for file in shown] == ["d/e.py", "a.py", "b.c"]
    assert all(file.whole and file.text == files[file.path] for file in shown)
    assert [file.fence for file in shown] == ["python", "python", "c"]


def test_a_file_that_is_too_long_is_shown_in_part_and_the_others_by_their_definitions() -> None:
    files = Files.of(many(3))
    near, *others = shown_files(files, 4000, ["part01.py"], 0)
    assert (near.path, near.whole) == ("part01.py", False)
    assert "def score():\n    return WEIGHT * 1.5 + part02.score()\n" in near.text
    assert near.text.rstrip().endswith("more definitions]")
    for other in others:
        assert "which define:]\ndef " in other.text


def test_other_prompts_show_other_parts() -> None:
    files = Files.of(many(2))
    texts = {shown_files(files, 3000, [], turn)[0].text for turn in range(5)}
    assert len(texts) == 5


TEXTS = st.lists(
    st.sampled_from(["x = 1\n", "def f():\n    return 1\n", "\n", "class A:\n    y = 2\n", "(\n"]), max_size=9
)
PROGRAMS = st.dictionaries(st.sampled_from(["a.py", "b.c", "c.txt", "d.py"]), TEXTS.map("".join), min_size=1).map(
    Files.of
)


@given(
    PROGRAMS, st.integers(0, 200), st.integers(0, 99), st.lists(st.sampled_from(["a.py", "b.c", "gone"]), unique=True)
)
def test_each_file_is_named_and_the_room_is_kept(files: Files, room: int, turn: int, near: list[str]) -> None:
    shown = shown_files(files, room, near, turn)
    assert sorted(file.path for file in shown) == [*files]
    assert sum(estimate_tokens(file.text) for file in shown if file.text) <= room + len(files)
    for file in shown:
        kept = [line for line in file.text.split("\n") if not line.startswith("[")]
        assert set(kept) <= {*files[file.path].split("\n"), ""}
