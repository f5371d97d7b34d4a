"""`evolve new` and `evolve doctor --task`: a task that runs at once, and what is wrong with one that does not."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.places import TEMPLATES

DOCUMENTED = Path(__file__).parent.parent / "data" / "no_three"
ONLINE = DOCUMENTED.parent / "online"
OTHERS = [Path(__file__).parent.parent / "data" / name for name in ("climb", "curve")]


METRICS = {"answer": "spread", "interactive": "bins", "script": "combined_score"}


def test_every_kind_that_can_be_made_is_tried_here():
    assert {path.parent.name for path in TEMPLATES.glob("*/task.yaml")} == METRICS.keys()


@pytest.mark.parametrize("kind", ["answer", pytest.param("interactive", marks=pytest.mark.slow), "script"])
def test_a_new_task_is_sound_and_improves_offline_at_once(tmp_path, monkeypatch, evolve, evolve_json, kind):
    monkeypatch.chdir(tmp_path)
    assert "my first: a task that runs as it is" in evolve("new", "deep/my first", "--kind", kind)
    report = evolve_json("doctor", "--task", "deep/my first")
    assert report["ok"] is True
    assert {check["name"]: check["state"] for check in report["checks"]}["score"] == "ok", "it moves"
    evolve("run", "--task", "deep/my first", "--generations", 14, "--parallel", 1, "--name", "r")
    programs = evolve_json("list", "r")["programs"]
    best = max(program["combined_score"] for program in programs if program["correct"])
    assert best > next(program["combined_score"] for program in programs if program["generation"] == 0)
    assert programs[0]["metric"] == METRICS[kind]


def test_a_new_interactive_task_has_a_held_out_suite_and_a_recipe(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine", "--kind", "interactive")
    evolve("run", "--task", "mine", "--generations", 1, "--name", "r")
    assert "held-out" in evolve("show", "r", "0")
    rows = evolve_json("score", "mine/initial.py", "--task", "mine", "--fresh", "3", "--seed", "s")
    assert [row["correct"] for row in rows] == [True, True]
    for name in ("small", "holdout"):  # as the recipe makes them
        for instance in json.loads(Path(f"mine/{name}.json").read_text())["instances"]:
            assert instance["capacity"] == 100
            assert len(instance["sizes"]) == 60
            assert all(10 <= size <= 70 for size in instance["sizes"])


def test_fresh_instances_of_a_task_to_maximise_are_worth_what_the_judge_returned(
    tmp_path, monkeypatch, evolve, evolve_json
):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine")
    with Path("mine/judge.py").open("a") as judge:
        judge.write("\n\ndef draw_instance(rng, suite):\n    return rng.randint(4, 9)\n")
    rows = evolve_json("score", "mine/initial.py", "--task", "mine", "--fresh", "3", "--seed", "s")
    costs = [Fraction(result["cost"]) for result in rows[0]["results"]]
    assert rows[0]["mean_cost"] == float(sum(costs) / 3) > 0


def test_fresh_instances_of_a_task_to_minimise_show_the_metric_as_it_is(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine", "--kind", "interactive")
    fresh = "score", "mine/initial.py", "--task", "mine", "--fresh", "3", "--seed", "s"
    row, _ = evolve_json(*fresh)
    shown = evolve(*fresh)
    assert row["value"] == -row["combined_score"] > 0
    assert f"{row['value']:.6f}" in shown
    assert "-" not in shown.partition("mine/initial.py")[2].split("\n")[0]
    assert row["metric"] == "bins" in shown


def test_an_existing_folder_is_refused(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    assert "mine exists already; choose another folder" in evolve("new", "mine", code=2)
    assert list(Path("mine").iterdir()) == []


def test_the_documented_task_runs_and_improves(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__"))
    assert evolve_json("doctor", "--task", "no_three")["ok"] is True
    printed = evolve("run", "--task", "no_three", "--generations", 6, "--minutes", 9, "--name", "r", "--parallel", 1)
    assert "the limit of 6 generations is reached, before that of 9 minutes" in printed
    programs = {program["generation"]: program for program in evolve_json("list", "r")["programs"]}
    assert max(p["value"] for p in programs.values() if p["correct"]) > programs[0]["value"]
    table = evolve("list", "r")
    assert "points" in table
    assert "metric_bound" not in table


def test_the_least_of_it_is_enough(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__", "task.yaml"))
    report = evolve_json("doctor", "--task", "no_three")
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert "not stated, so `score` is maximised" in checks["objective"]["detail"]
    (row,) = evolve_json("score", "no_three/initial.py", "--task", "no_three")
    assert row["value"] == row["combined_score"] == row["metrics"]["score"]


FAULTS = {
    "raises": ("    n = instance\n", "    n = instance + len(answer)\n", "judge.py line 11, judge(): raised TypeError"),
    "believes": (
        "    if not isinstance(answer, list)",
        "    if answer is None: return 5\n    if not isinstance(answer, list)",
        "judge() accepts None",
    ),
    "keeps": (
        "    return len(answer)\n",
        "    INSTANCES.append(0)\n    return len(INSTANCES)\n",
        "judge() gives 13 and then 14",
    ),
    "summarise": (
        "INSTANCES =",
        "def summarise(verdicts, instances):\n    return {'points': float(sum(v.cost for v in verdicts))}\nINSTANCES =",
        "judge.py line 8, summarise(): raised TypeError",
    ),
    "fails": ("    return len(answer)\n", "    raise Infeasible('never')\n", "initial.py: infeasible: instance 0"),
    "returns": ("    return len(answer)\n", "    return True\n", "judge(): returned True (bool), not an int"),
    "missing": ("INSTANCES = [6, 8, 11, 15]\n", "", "INSTANCES is not defined"),
    "drawn": (
        "INSTANCES =",
        "def draw(instance, answer):\n    return 'a picture'\nINSTANCES =",
        "draw(): returned 'a picture' (str), not an SVG text",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_task_is_said_with_its_file(tmp_path, monkeypatch, evolve_json, fault):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__"))
    judge = Path("no_three/judge.py")
    before, after, message = FAULTS[fault]
    assert before in judge.read_text()
    judge.write_text(judge.read_text().replace(before, after, 1))
    report = evolve_json("doctor", "--task", "no_three", code=1)
    assert report["ok"] is False
    broken = [check["detail"] for check in report["checks"] if check["state"] == "broken"]
    assert any(message in detail for detail in broken), broken


def test_a_score_that_never_moves_is_reported(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__"))
    judge = Path("no_three/judge.py")
    judge.write_text(judge.read_text().replace("return len(answer)", "return 7"))
    checks = {check["name"]: check for check in evolve_json("doctor", "--task", "no_three")["checks"]}
    assert "not sensitive" in checks["score"]["detail"]
    assert "no task 'nowhere'" in json.dumps(evolve_json("doctor", "--task", "nowhere", code=1))


def test_what_is_wrong_is_printed_whole_and_what_to_do_about_it(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__"))
    initial = Path("no_three/initial.py")
    source = initial.read_text()
    initial.write_text(source.replace("SLANT", "import numpy\nSLANT", 1))
    printed = evolve("doctor", "--task", "no_three", code=1)
    assert "line 4, in <module>: import numpy\n" in printed
    assert "ModuleNotFoundError: import numpy is not available" in printed
    assert "or list the package in" in printed
    initial.write_text("".join(line for line in source.splitlines(keepends=True) if "EVOLVE-BLOCK-END" not in line))
    printed = evolve("doctor", "--task", "no_three", code=1)
    assert "EVOLVE-BLOCK-START without an EVOLVE-BLOCK-END after it" in printed


def test_a_program_for_another_task_is_pointed_to_the_option(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    assert "--task FOLDER" in evolve("score", DOCUMENTED / "initial.py")
    assert "--task FOLDER" not in evolve("score", DOCUMENTED / "initial.py", "--task", DOCUMENTED)


def test_a_score_that_moves_only_after_several_changes_is_seen_to_move(evolve_json):
    checks = {check["name"]: check for check in evolve_json("doctor", "--task", str(ONLINE))["checks"]}
    assert checks["score"]["state"] == "ok"
    assert "sensitive: " in checks["score"]["detail"]


def test_ingredients_that_are_none_are_reported(tmp_path, monkeypatch, evolve_json):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCUMENTED, "no_three", ignore=shutil.ignore_patterns("__pycache__"))
    Path("no_three/ingredients").mkdir()
    Path("no_three/ingredients/odd.py").write_text("x = (\n")
    with Path("no_three/task.yaml").open("a") as file:
        file.write("ingredients: ingredients\n")
    checks = {check["name"]: check for check in evolve_json("doctor", "--task", "no_three", code=1)["checks"]}
    assert checks["ingredients"]["state"] == "broken"
    assert "odd.py" in checks["ingredients"]["detail"]
