"""Whole runs on a task whose programs are C: begun, patched, resumed, replayed, exported."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from evaluator.errors import SandboxError
from evaluator.sandbox import landlock
from evaluator.sandbox.tree import establish_tree
from evaluator.task_files import load_task

INITIAL = load_task("tours").initial
GIT = shutil.which("git")


def lacking() -> str | None:
    """What this machine lacks to run such programs in the sandbox."""
    if shutil.which("cc") is None:
        return "there is no C compiler"
    try:
        establish_tree()
    except SandboxError as why:
        return str(why)
    return None


LACKING = lacking()
with_a_compiler = pytest.mark.skipif(LACKING is not None, reason=f"no C is compiled here: {LACKING}")

CONFIG = """
models: [{model: "scripted:script.yaml"}]
attempts: 1
search: {kinds: {diff: 1, full: 0, cross: 0}}
"""
ANSWERS = """
answers:
  - |
    <NAME>cool down further</NAME>
    <DESCRIPTION>At 30 the tour stays in disorder.</DESCRIPTION>
    <DIFF>
    <<<<<<< SEARCH
    #define COLDEST 30.0   // and so at the end
    =======
    #define COLDEST 3.0
    >>>>>>> REPLACE
    </DIFF>
  - |
    <NAME>does not compile</NAME>
    <DIFF>
    <<<<<<< SEARCH
            double heat = HOTTEST * pow(COLDEST / HOTTEST, part);
    =======
            double heat = HOTTEST * pow(COLDEST / HOTTEST, part;
    >>>>>>> REPLACE
    </DIFF>
  - |
    <NAME>only a comment</NAME>
    <DIFF>
    <<<<<<< SEARCH
    // Makes the tour shorter.
    =======
    // Makes the tour shorter, and says so.
    >>>>>>> REPLACE
    </DIFF>
  - |
    <NAME>forgets points</NAME>
    <DIFF>
    <<<<<<< SEARCH
    static int before(int place) { return tour[(place + n - 1) % n]; }
    =======
    static int before(int place) { tour[0] = tour[1]; return tour[(place + n - 1) % n]; }
    >>>>>>> REPLACE
    </DIFF>
"""


@pytest.mark.slow
@with_a_compiler
def test_a_models_patches_of_a_c_program_are_applied_judged_and_recorded(tmp_path, evolve, evolve_json, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.yaml").write_text(ANSWERS)
    (tmp_path / "run.yaml").write_text(CONFIG)
    options = ("--name", "c", "--task", "tours", "--parallel", "1")
    evolve("run", "run.yaml", *options, "--generations", "4")
    document = evolve_json("list", "c")
    status = {ended["generation"]: ended["status"] for ended in document["generations"]}
    programs = {program["generation"]: program for program in document["programs"]}
    assert programs[1]["patch_name"] == "cool_down_further"
    assert programs[1]["value"] < programs[0]["value"]
    assert not programs[2]["correct"]
    assert "does not compile" in evolve("show", "c", "2")
    assert status[3] == "duplicate"
    assert not programs[4]["correct"]
    assert "visited more than once" in evolve("show", "c", "4", "--feedback")
    assert "lower COLDEST" in json.dumps(evolve_json("show", "c", "1"))
    prompt = evolve("show", "c", "1", "--prompt")
    assert "The program is C. Only the lines between `// EVOLVE-BLOCK-START` and `// EVOLVE-BLOCK-END`" in prompt
    assert "```c\n" in prompt
    assert "Python" not in prompt.replace("\n| ", "")
    tree = subprocess.run(
        ["git", "--git-dir", "runs/c/programs.git", "ls-tree", "--name-only", programs[1]["commit"]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert tree.stdout.split() == ["patch.txt", "program.c"]
    assert "equal" in evolve("replay", "c", "1").lower()
    evolve("export", "c", "1", "-o", "best.c")
    assert (tmp_path / "best.c").read_text() == INITIAL.read_text().replace(
        "COLDEST 30.0   // and so at the end", "COLDEST 3.0"
    )
    assert not programs[1]["self_judged"]


@pytest.mark.slow
@with_a_compiler
def test_an_offline_run_shortens_the_tours_and_is_the_same_again(tmp_path, evolve, evolve_json, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--task", "tours", "--parallel", "1", "--seed", "6")
    output = evolve("run", "--name", "whole", *options, "--generations", "2")
    evolve("run", "--name", "cut", *options, "--generations", "1")
    evolve("resume", "cut", "--generations", "2")
    whole, cut = evolve_json("list", "whole"), evolve_json("list", "cut")
    assert whole["fingerprint"] == cut["fingerprint"]
    values = [program["value"] for program in whole["programs"] if program["correct"]]
    initial = next(program["value"] for program in whole["programs"] if program["generation"] == 0)
    assert min(values) < 0.96 * initial
    assert "In C it changes numbers only." in output
    assert "best.c" in output
    patches = " ".join(program["patch_name"] for program in whole["programs"])
    assert any(f"_{name}" in patches for name in ("hottest", "coldest", "levels", "tries"))


@with_a_compiler
def test_a_program_without_markers_may_change_as_a_whole(tmp_path, evolve, evolve_json, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = "".join(line for line in INITIAL.open() if "EVOLVE-BLOCK" not in line)
    (tmp_path / "bare.c").write_text(bare.removesuffix("\n"))
    evolve("run", "--name", "bare", "--task", "tours", "--generations", "1", "--set", "initial=bare.c")
    assert len(evolve_json("list", "bare")["programs"]) == 2


def test_a_machine_without_a_compiler_is_reported_in_one_sentence(tmp_path, evolve, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if LACKING is not None and "compiler" not in LACKING:
        pytest.skip(LACKING)
    folder = Path(shutil.copytree(load_task("tours").folder, tmp_path / "mine"))
    script = folder / "evaluate.py"
    script.write_text(script.read_text().replace('("cc", "gcc", "clang")', '("no-such-compiler",)'))
    for words in (("run", "--task", folder), ("score", INITIAL, "--task", folder)):
        output = evolve(*words, code=3)
        assert output.count("there is no C compiler (no-such-compiler): install one") == 1
        assert output.count("\n") == 1
    assert "there is no C compiler" in evolve("doctor", "--task", folder, code=1)
    assert not (tmp_path / "runs").exists()


def test_a_program_of_another_language_than_the_tasks_is_refused(tmp_path, evolve, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.c").write_text("int main(void) { return 0; }\n")
    output = evolve("run", "--task", "placement", "--set", "initial=mine.c", code=2)
    assert "mine.c: the file name says C, but programs of the task 'placement' are Python" in output
    (tmp_path / "mine.py").write_text("x = 1\n")
    assert "the file name says Python" in evolve("run", "--task", "tours", "--set", "initial=mine.py", code=2)


@pytest.mark.slow
@pytest.mark.skipif(landlock.version() < landlock.SCOPED_SINCE, reason="no level standard for scripts")
@with_a_compiler
def test_without_bubblewrap_a_program_that_may_not_be_executed_meets_the_levels_limit(tmp_path, evolve, monkeypatch):
    """A linker changes the mode of what it made, which level standard denies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "git").symlink_to(str(GIT))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "initial.c").write_text("int main(void) { return 0; }\n")
    build = 'subprocess.run(["cc", "-o", "prog", sys.argv[1]], check=True)'
    (folder / "evaluate.py").write_text(f'import subprocess, sys\n{build}\nsubprocess.run(["./prog"], check=True)\n')
    output = evolve("run", "--task", folder, code=3)
    assert "sandbox level standard lets no file be made executable" in output
    assert "Permission denied: './prog'" in output
    assert "install bubblewrap" in output
    assert "the fault is this machine's" in output
