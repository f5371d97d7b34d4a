"""Tasks of other systems, run: a few generations, gone on with, scored again; and programs that misbehave."""

import os
from pathlib import Path

import pytest
import yaml

from evaluator.sandbox import bubblewrap

DATA = Path(__file__).parent.parent / "data"
FROM = {
    "openevolve_cascade": "--from-openevolve",
    "openevolve_plain": "--from-openevolve",
    "shinka_numpy": "--from-shinka",
    "shinka_cpp": "--from-shinka",
}


@pytest.fixture
def mine(tmp_path, monkeypatch, evolve):
    """Makes the folder `mine` of one of the folders above."""
    monkeypatch.chdir(tmp_path)

    def make(name):
        evolve("new", "mine", FROM[name], DATA / name)
        return Path("mine")

    return make


# Below `strong` nothing may be made executable once it is there, as linkers do.
STRONG = pytest.mark.skipif(bubblewrap.find() is None, reason="bubblewrap is not installed")


@pytest.mark.parametrize(
    "name",
    [
        "openevolve_plain",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("openevolve_cascade", "shinka_numpy")),
        pytest.param("shinka_cpp", marks=[STRONG, pytest.mark.slow]),
    ],
)
def test_a_task_of_another_system_is_sound_runs_goes_on_and_is_scored_again(mine, evolve, evolve_json, name):
    mine(name)
    report = evolve_json("doctor", "--task", "mine")
    assert report["ok"] is True
    assert {check["name"]: check["state"] for check in report["checks"]}["score"] == "ok", "it moves"
    printed = evolve("run", "mine/run.yaml", "--generations", 1, "--parallel", 1, "--seed", 7, "--name", "r")
    assert "self-judged" in printed
    evolve("resume", "r", "--generations", 3)
    programs = {program["generation"]: program for program in evolve_json("list", "r")["programs"]}
    assert programs[0]["correct"]
    assert max(p["combined_score"] for p in programs.values() if p["correct"]) > programs[0]["combined_score"]
    replayed = evolve_json("replay", "r")
    assert replayed["equal"] is True
    assert all(program["self_judged"] for program in programs.values())


ANSWER = """<NAME> {name} </NAME>
<DESCRIPTION> why not </DESCRIPTION>
<CODE>
{code}
</CODE>"""


def test_a_model_gets_the_evaluators_feedback_and_nothing_private(mine, evolve, evolve_json):
    mine("shinka_numpy")
    block = "# EVOLVE-BLOCK-START\n{}\n# EVOLVE-BLOCK-END\n\n"
    block += "def run_experiment(noise):\n    return line(np.arange(4) + noise)"
    good = "SLOPE = 0.5\nOFFSET = 2.0\n\ndef line(x):\n    return SLOPE * x + OFFSET"
    codes = {
        "wrong_shape": "def line(x):\n    return x[:2]",
        "not_a_number": "def line(x):\n    return x * np.nan",
        "fits": good,
    }
    answers = [ANSWER.format(name=name, code=block.format(code)) for name, code in codes.items()]
    Path("model.yaml").write_text(yaml.safe_dump({"answers": answers}))
    settings = ["--set", "search.kinds.diff=0", "--set", "search.kinds.full=1", "--set", "search.kinds.cross=0"]
    settings += ["--set", "search.kinds.fix=0"]
    evolve(
        *("run", "mine/run.yaml", "--model", "scripted:model.yaml", "--generations", 3, "--parallel", 1),
        *(*settings, "--set", "attempts=1", "--name", "r"),
    )  # fmt: skip
    programs = {program["patch_name"]: program for program in evolve_json("list", "r")["programs"]}
    assert programs["wrong_shape"]["correct"] is False
    assert programs["not_a_number"]["correct"] is False
    assert programs["fits"]["combined_score"] == pytest.approx(-0.1)
    assert "could not be broadcast together" in evolve("show", "r", "1")
    assert "combined_score is nan" in evolve("show", "r", "2")
    shown = evolve("show", "r", "3", "--prompt")
    assert "Move the offset." in shown
    assert "the offset matters most" in shown
    assert "only for people" not in shown


def test_what_a_program_leaves_behind_ends_with_its_time(mine, evolve_json):
    """It forks, detaches itself and sleeps: at the limit nothing of it is left."""
    folder = mine("openevolve_plain")
    task = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(task.replace("wall_s: 300", "wall_s: 2"))
    seconds = "86399.25"
    Path("program.py").write_text(
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen(['sleep', '{seconds}'], start_new_session=True)\n"
        "if os.fork() == 0:\n    os.setsid()\n"
        f"    os.execvp('sleep', ['sleep', '{seconds}'])\n"
        "time.sleep(3600)\n"
    )
    (row,) = evolve_json("score", "program.py", "--task", "mine")
    assert row["outcome"] == "timeout"
    assert row["self_judged"] is True
    left = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
        except OSError:  # it ended meanwhile
            continue
        left += [entry.name] if os.fsencode(seconds) in command else []
    assert left == []


def test_what_an_evaluator_cannot_import_is_the_tasks_fault(mine, evolve):
    folder = mine("openevolve_plain")
    (folder / "theirs" / "evaluator.py").write_text("import no_such_package\ndef evaluate(path): ...\n")
    printed = evolve("run", "mine/run.yaml", "--generations", 1, code=1)
    assert "theirs/evaluator.py cannot be loaded: ModuleNotFoundError" in printed


def test_models_in_run_yaml_may_change_without_a_new_verdict(mine, evolve):
    folder = mine("openevolve_plain")
    evolve("run", "mine/run.yaml", "--generations", 1, "--parallel", 1, "--name", "r")
    (folder / "run.yaml").write_text((folder / "run.yaml").read_text() + "# another model\n")
    assert "Resuming" in evolve("resume", "r", "--generations", 2)
