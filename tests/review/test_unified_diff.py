import subprocess

from hypothesis import given
from hypothesis import strategies as st

from evolve.review.texts import unified_diff
from tests.examples import part_of_the_examples

_LINES = st.lists(st.sampled_from(["a", "b", "", "\x0c", "\u2028x", "--- y", "+++ z", "\r"]), max_size=12)
_TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, _LINES, st.sampled_from(["", "\n"]))


def test_equal_sources_have_an_empty_diff():
    assert unified_diff("a\nb", "a\nb", "x", "y") == ""


def test_a_missing_last_newline_is_shown_as_patch_does():
    assert unified_diff("a\n", "a", "x", "y") == "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"


@part_of_the_examples(2)
@given(_TEXTS, _TEXTS)
def test_git_applies_every_diff_to_the_very_same_text(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("apply")
    path = folder / "program.py"
    path.write_bytes(before.encode())
    diff = unified_diff(before, after, "a/program.py", "b/program.py")
    if before and after and diff:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        subprocess.run(command, cwd=folder, input=diff.encode(), check=True, capture_output=True)
        assert path.read_bytes() == after.encode()


def test_texts_that_would_take_minutes_to_compare_are_one_change(tmp_path):
    # Compared line by line, time grows with the cube of such a text's length: 15 s for 25 KB each, minutes for 64 KiB.
    before, after = ("".join(f"{line * n if line % 40 == 0 else line}\n" for line in range(2200)) for n in (2, 3))
    path = tmp_path / "program.py"
    path.write_text(before)
    diff = unified_diff(before, after, "a/program.py", "b/program.py")
    assert [line for line in diff.split("\n") if line.startswith("@@")] == ["@@ -38,2127 +38,2127 @@"]
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True, capture_output=True)
    assert path.read_text() == after
