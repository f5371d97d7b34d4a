"""The answers of a best program: kept in the record, exported, and judged again without a program."""

import json
import shutil
from pathlib import Path

import pytest

from evolve.cli.main import main

DATA = Path(__file__).resolve().parent.parent / "data"
ONLINE, SORTING = str(DATA / "online"), str(DATA / "sorting")


@pytest.fixture(scope="module")
def improved(tmp_path_factory):
    """Where a run of an interactive task lies, as `runs/r`, whose best is not the initial program."""
    place = tmp_path_factory.mktemp("certificates")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        main(["run", "--task", ONLINE, "--name", "r", "--generations", "20", "--parallel", "1"])
    return place


@pytest.fixture
def here(improved, tmp_path, monkeypatch, evolve):
    """The run, in a folder of the test's own, with the answers of its best in `a.json`."""
    shutil.copytree(improved / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    assert "the answers of generation" in evolve("export", "r", "best", "--answers", "a.json")
    return tmp_path


def judge(evolve, code=0):
    return evolve("score", "--answers", "a.json", "--task", ONLINE, code=code)


def change(edit):
    document = json.loads(Path("a.json").read_text())
    edit(document)
    Path("a.json").write_text(json.dumps(document))


def test_the_answers_of_a_best_are_judged_again_and_score_what_is_on_record(here, evolve, evolve_json):
    recorded = {program["generation"]: program for program in evolve_json("list", "r")["programs"]}
    document = json.loads(Path("a.json").read_text())
    best = max(recorded.values(), key=lambda program: program["combined_score"] if program["correct"] else -1e9)
    assert best["combined_score"] > recorded[0]["combined_score"]
    assert "The verdict equals the record exactly. No program was run." in judge(evolve)
    (row,) = evolve_json("score", "--answers", "a.json", "--task", ONLINE)
    assert row["combined_score"] == row["recorded_score"] == best["combined_score"] == document["combined_score"]
    assert row["equal"] is True
    assert [len(entry["answer"]) for entry in document["instances"]] == [40, 60, 80]


def test_every_program_that_became_the_best_has_its_answers_and_no_other(here, evolve, evolve_json):
    best = float("-inf")
    for program in sorted(evolve_json("list", "r")["programs"], key=lambda program: program["generation"]):
        becomes_best = program["correct"] and program["combined_score"] > best
        number = program["generation"]
        output = evolve("export", "r", number, "--answers", f"{number}.json", code=0 if becomes_best else 2)
        if becomes_best:
            best = program["combined_score"]
            (row,) = evolve_json("score", "--answers", f"{number}.json", "--task", ONLINE)
            assert row["recorded_score"] == best
        else:
            assert "has no answers on record: answers of at most" in output


def test_the_file_is_new_unless_forced_and_goes_with_the_program(here, evolve):
    assert "--force" in evolve("export", "r", "best", "--answers", "a.json", code=2)
    both = evolve("export", "r", "best", "--answers", "a.json", "-o", "best.py", "--force")
    assert both.startswith("best.py: generation") and "a.json: the answers of generation" in both
    assert "choose_bin" in Path("best.py").read_text()
    assert "-o FILE for the program" in evolve("export", "r", "best", code=2)


def worse(document):  # a bin of its own for the last item: feasible, and it costs one more
    answer = document["instances"][0]["answer"]
    answer[-1] = max(answer) + 1


def infeasible(document):
    document["instances"][1]["answer"] = [0] * 60


def short(document):
    document["instances"][2]["answer"].pop()


def boasting(document):
    document["combined_score"] += 1e-9


def missing(document):
    del document["instances"][1]


def foreign(document):
    document["instances"].append({"instance": 7, "cost": None, "answer": None})


def cheaper(document):
    document["instances"][0]["cost"] = "17"


def flattering(document):
    document["value"] -= 1e-9


def renaming(document):
    document["metric"] = "bins saved"


TAMPERED = {
    flattering: "value: ",
    renaming: "metric: bins now, bins saved recorded",
    worse: "instance 0: ",
    infeasible: "infeasible now",
    short: "item 79 has no answer",
    boasting: "combined_score: ",
    missing: "instance 1: there is no answer",
    foreign: "instance 7: suite small has none",
    cheaper: "17 recorded",
}


@pytest.mark.parametrize("tampering", TAMPERED)
def test_tampered_answers_are_found(here, evolve, tampering):
    change(tampering)
    output = judge(evolve, code=1)
    assert TAMPERED[tampering] in output
    assert "The verdict differs from the record." in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not plain JSON"),
        ("[]", "not a JSON object"),
        ("{}", "must be texts"),
        ("[" * 100_000, "not plain JSON"),
        ('{"task": NaN}', "NaN is not JSON"),
        ('{"task": 1e999}', "not a finite number"),
    ],
)
def test_what_is_no_file_of_answers_is_refused(here, evolve, text, message):
    Path("a.json").write_text(text)
    assert message in judge(evolve, code=2)
    assert "export" in judge(evolve, code=2)


@pytest.mark.parametrize("key", ["commit", "generation", "evaluator_version", "author"])
def test_what_no_judge_can_confirm_is_refused(here, evolve, key):
    change(lambda document: document.update({key: 1}))
    assert f"no judge can confirm its key '{key}'" in judge(evolve, code=2)


@pytest.mark.parametrize("key", ["task", "suite", "task_digest", "metric", "combined_score", "value"])
@pytest.mark.parametrize("value", [None, [1.0]])
def test_a_value_of_another_kind_is_refused(here, evolve, key, value):
    change(lambda document: document.update({key: value}))
    assert "not a file of answers" in judge(evolve, code=2)


def test_an_entry_says_nothing_that_no_judge_can_confirm(here, evolve):
    change(lambda document: document["instances"][0].update(optimum="17"))
    assert "no judge can confirm its key 'optimum'" in judge(evolve, code=2)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", '{"a": 1, "a": 2}'])
def test_answers_that_are_no_plain_json_are_refused(here, evolve, value):
    text = Path("a.json").read_text()
    before = '"answer": [0'
    assert before in text
    Path("a.json").write_text(text.replace(before, f'"answer": [{value}', 1))
    assert "not plain JSON" in judge(evolve, code=2)


@pytest.mark.parametrize(
    "entry", [None, {"instance": 0}, {"instance": True, "answer": 1}, {"instance": 0, "answer": 1}]
)
def test_an_entry_that_is_none_is_refused(here, evolve, entry):
    change(lambda document: document["instances"].append(entry))
    assert "each of `instances` must have" in judge(evolve, code=2)


def test_another_judge_does_not_judge_them(here, evolve):
    shutil.copytree(ONLINE, "task", ignore=shutil.ignore_patterns("__pycache__"))
    path = Path("task/judge.py")
    path.write_text(path.read_text().replace("return len(room)", "return len(room) - 1"))
    assert "another judge scored these answers" in evolve("score", "--answers", "a.json", "--task", "task", code=2)


def test_a_file_names_no_folder_whose_code_is_loaded(here, evolve):
    change(lambda document: document.update(task=ONLINE))
    assert "is not built in; name its folder" in evolve("score", "--answers", "a.json", code=2)


def test_only_a_task_goes_with_answers(here, evolve):
    Path("best.py").write_text("")
    for more in (["best.py"], ["--strict"], ["--suite", "holdout"], ["--fresh", "3"]):
        assert "only --task goes with it" in evolve("score", "--answers", "a.json", *more, code=2)
    assert "--answers FILE" in evolve("score", code=2)


def test_where_the_clock_is_the_score_none_are_kept_and_fresh_costs_say_nothing(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SORTING, "sorting", ignore=shutil.ignore_patterns("__pycache__"))
    lists = json.loads(Path("sorting/lists.json").read_text())
    Path("sorting/lists.json").write_text(json.dumps(lists | {"instances": lists["instances"][:1]}))
    assert main(["run", "--task", "sorting", "--generations", "1", "--name", "r"]) in (0, 1)
    assert "its score is a speed" in evolve("export", "r", "0", "--answers", "a.json", code=2)
    output = evolve("score", "sorting/initial.py", "--task", "sorting", "--fresh", "2", code=2)
    assert "--fresh compares costs, but the score of task" in output
