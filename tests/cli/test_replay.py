from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.objective import Objective
from evaluator.task_files import built_in_tasks, load_task
from evaluator.version import version_of
from tests.builders import one_file
from tests.journals import rewrite


@pytest.fixture(scope="module")
def recorded_real(recorded_runs):
    """The run `real`: the placement task's initial program, really evaluated."""
    task = load_task("placement")
    source = task.initial.read_text(encoding="utf-8")
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    run = recorded_runs("real")
    run.initial(source, evaluation)
    return run.archive.reader


@pytest.fixture
def real(bring, recorded_real):
    return bring(recorded_real)


def change_record(change):
    """Edit the journal's evaluation of the initial program, as someone would who wants to be believed."""
    path = Path("runs/real/journal.jsonl")
    rewrite(path, lambda event: change(event["evaluation"]) if "evaluation" in event else None)


def test_an_honest_record_is_found_again(real, evolve, evolve_json):
    document = evolve_json("replay", "real")
    assert set(document) == {"program", "recorded", "replayed", "equal", "differences"}
    assert document["equal"] is True
    assert document["differences"] == []
    assert document["program"] == real.find("best").commit
    assert document["recorded"]["combined_score"] == document["replayed"]["combined_score"]
    assert "Equal: every one of the 50 instances" in evolve("replay", "real", "0")


def test_the_answers_of_a_task_that_ships_are_judged_again_by_its_name(recorded_runs, bring, evolve):
    task = load_task("placement")
    source = task.initial.read_text(encoding="utf-8")
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        confirmed = evaluator.examine(one_file(source), evaluator.evaluate(one_file(source)))
    run = recorded_runs("confirmed", task_digest=task.digest)
    run.initial(source, confirmed)
    bring(run.archive.reader)
    evolve("export", "confirmed", "0", "--answers", "a.json")
    assert "equals the record exactly" in evolve("score", "--answers", "a.json")


def test_a_changed_cost_ends_with_1_and_the_instance(real, evolve, evolve_json):
    cost = real.evaluation(real.find("0")).results[7].cost
    better = str(cost - Fraction(1, 10**6))

    def improve(evaluation):
        evaluation["costs"][7] = better

    change_record(improve)
    document = evolve_json("replay", "real", code=1)
    assert document["equal"] is False
    assert document["differences"] == [
        {
            "instance": 7,
            "recorded": {"outcome": "ok", "cost": better},
            "replayed": {"outcome": "ok", "cost": str(cost)},
        }
    ]
    assert "Different on 1 of 50 instances: 7." in evolve("replay", "real", code=1)


def test_a_changed_score_ends_with_1_even_if_every_instance_agrees(real, evolve, evolve_json):
    change_record(lambda evaluation: evaluation.update(combined_score=26.0))
    assert evolve_json("replay", "real", code=1)["differences"] == []
    assert "combined_score: recorded 26.0" in evolve("replay", "real", code=1)


def test_another_evaluator_is_said(real, evolve):
    change_record(lambda evaluation: evaluation.update(evaluator_version="another"))
    assert "version another is recorded" in evolve("replay", "real")


def test_a_program_that_is_not_there_is_named(real, evolve):
    assert "generation 9" in evolve("replay", "real", "9", code=2)


def test_a_program_that_failed_strictly_fails_again_the_same(evolve_json, recorded_runs, bring, tmp_path):
    task = load_task("placement")
    source = task.initial.read_text(encoding="utf-8").replace(
        "    placement = {", "    models.sort(key=lambda m: m.model_name)\n    placement = {", 1
    )
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.examine(one_file(source), evaluator.evaluate(one_file(source)))
    assert evaluation.outcome.value == "nondeterministic"
    run = recorded_runs("named")
    run.initial(source, evaluation)
    bring(run.archive.reader)
    assert evolve_json("replay", "named", "0")["equal"] is True


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"combined_score": 24.5, "published_score": 24.5}, "its combined_score is 24.5, and its costs give 21.89"),
        ({"combined_score": 99.0}, "its score 99.0 is above the ceiling 26.25"),
        ({"ceiling": 30.0}, "its ceiling is 30.0, and its costs give 26.25"),
        ({"metrics": {}}, "its max_kvpr_inverse is None, and its costs give "),
        ({"beyond": "better than every value listed here"}, "its best_known does not follow from its costs"),
        ({"metric_bound": 1.0}, "its metric_bound is 1.0, and its costs give "),
        ({"objective": Objective(metric="max_kvpr_inverse").to_json()}, "its objective does not follow from its costs"),
        ({"costs": ["9" * 4000] * 50}, "no score follows from its costs ("),
    ],
)
def test_a_forged_score_of_a_task_that_ships_is_never_a_best(real, evolve, change, why):
    task = load_task("placement")
    version = version_of(task, task.suite())

    def forge(event):
        if event["event"] == "created":
            event["identity"]["evaluator_version"] = version
        if "evaluation" in event:
            event["evaluation"].update(change)

    rewrite(Path("runs/real/journal.jsonl"), forge)
    for words in (["list", "real"], ["show", "real", "best"], ["replay", "real"], ["resume", "real"]):
        assert why in evolve(*words, code=2)


OTHERS = [name for name in built_in_tasks() if name != "placement"]  # which the tests above and README's tour replay
LONG = ("bin_packing", "txn_scheduling")  # the first takes a minute and more


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [pytest.param(name, marks=[pytest.mark.nightly] if name in LONG else []) for name in OTHERS]
)
def test_a_real_run_of_every_other_task_that_ships_is_read_again(task, tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    evolve("run", "--task", task, "--generations", 1, "--name", "r")
    assert 0 in [program["generation"] for program in evolve_json("list", "r")["programs"]]
    assert evolve_json("replay", "r", "0")["equal"] is True


def test_a_forged_value_above_the_proven_bound_of_a_task_to_maximise_is_never_a_best(recorded_runs, bring, evolve):
    task = load_task("circle_packing")
    source = task.initial.read_text(encoding="utf-8")
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    identity = {"task": task.name, "suite": task.suite().name, "evaluator_version": evaluation.evaluator_version}
    run = recorded_runs("packed", config="task: circle_packing\n", **identity)
    run.initial(source, evaluation)
    bring(run.archive.reader)
    assert "packed" in evolve("list", "packed")

    def forge(event):
        if "evaluation" in event:
            event["evaluation"].update(costs=["3"], combined_score=3.0, ceiling=None)

    rewrite(Path("runs/packed/journal.jsonl"), forge)
    assert "it should be quarantined (instance 0: value 3 is above the proven upper bound" in evolve(
        "list", "packed", code=2
    )
