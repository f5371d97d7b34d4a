"""Commands on a task with an evaluator script: every score says who made it."""

import json
from pathlib import Path

import evolve as api
from tests.script_folders import GOOD, make_folder, says

RANDOM = (
    "import json, random\ndef result():\n    return json.dumps({'correct': True, 'combined_score': random.random()})\n"
)
JUDGE = "INSTANCES = [4]\n\n\ndef judge(instance, answer):\n    return answer\n"


def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "mine", initial=GOOD)


def test_score_says_that_a_score_is_self_judged(tmp_path, evolve, evolve_json):
    task = folder(tmp_path)
    output = evolve("score", task / "initial.py", "--task", task)
    assert "score (self-judged)" in output
    (row,) = evolve_json("score", task / "initial.py", "--task", task)
    assert (row["self_judged"], row["combined_score"], row["correct"]) == (True, 1.5, True)


def test_strict_asks_twice_and_reports_the_spread_of_a_random_score(tmp_path, evolve, evolve_json):
    task = folder(tmp_path)
    chance = tmp_path / "chance.py"
    chance.write_text(RANDOM)
    (steady, varying) = evolve_json("score", task / "initial.py", chance, "--task", task, "--strict")
    assert steady["spread"] is None
    assert steady["strict"]["skipped"] == ["hash seed", "names", "order"]
    low, high = varying["spread"]
    assert 0 <= low < high <= 1
    assert varying["combined_score"] in (low, high)
    assert varying["strict"]["agrees"] is True
    assert "asked twice, it scored" in varying["strict"]["detail"]
    assert " to " in evolve("score", chance, "--task", task, "--strict")


def test_a_judge_added_makes_it_judged_from_outside(tmp_path, evolve, evolve_json):
    task = make_folder(tmp_path / "mine", initial=says(correct=True, combined_score=10**9, answers=[3]))
    (row,) = evolve_json("score", task / "initial.py", "--task", task)
    assert (row["self_judged"], row["combined_score"]) == (True, 1e9)
    (task / "judge.py").write_text(JUDGE)
    (row,) = evolve_json("score", task / "initial.py", "--task", task)
    assert (row["self_judged"], row["combined_score"]) == (False, 3.0)
    assert "self-judged" not in evolve("score", task / "initial.py", "--task", task)


def test_what_has_no_place_is_one_sentence(tmp_path, evolve):
    task = folder(tmp_path)
    program = task / "initial.py"
    assert "no recipe to draw fresh instances by: it has no judge.py" in evolve(
        "score", program, "--task", task, "--fresh", "3", code=2
    )
    (task / "task.yaml").write_text("suites: {a: {held_out: b}, b: {}}\n")
    output = evolve("score", program, "--task", task, code=2)
    assert "suites.a.held_out has no place without judge.py: the script scores programs itself" in output
    assert "Traceback" not in output
    (task / "task.yaml").write_text("environment: [SURELY_NOT_SET]\n")
    output = evolve("score", program, "--task", task, code=3)
    assert "needs the environment variable SURELY_NOT_SET, which is not set" in output


def test_doctor_says_what_a_task_without_a_judge_is(tmp_path, evolve_json):
    task = folder(tmp_path)
    report = evolve_json("doctor", "--task", task)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert (checks["judge"]["state"], "self-judged" in checks["judge"]["detail"]) == ("absent", True)
    (task / "initial.py").write_text(says(correct=False, feedback="no row"))
    report = evolve_json("doctor", "--task", task, code=1)
    checks = {check["name"]: check for check in report["checks"]}
    assert "no row" in checks["initial program"]["detail"]


def test_the_interface_of_python_says_it_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = folder(tmp_path)
    found = api.score(task / "initial.py", task=task, strict=True)
    assert found.self_judged
    with api.run(task=str(task), generations=2) as run:
        assert "(self-judged)" in repr(run)
        assert run.best is not None
        assert run.best["self_judged"] is True
    assert json.loads(json.dumps(found.to_json()))["self_judged"] is True


def test_the_list_of_runs_shows_the_spread_of_a_score_that_varies(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "mine", initial=RANDOM.replace("random.random()", "1 + random.random()"))
    evolve("run", "--task", "mine", "--generations", "1", "--name", "varying", code=1)  # nothing can be proposed
    (row,) = evolve_json("list")["runs"]
    low, high = row["spread"]
    assert low < high
    table = evolve("list")
    assert f"({low:.6f} to {high:.6f}) (self-judged)" in table
