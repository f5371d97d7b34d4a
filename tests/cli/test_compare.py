"""`evolve compare` as a person meets it."""

import shutil
from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.core.program import Origin, PatchKind
from tests.builders import make_made, make_question, one_file
from tests.journals import rewrite


@pytest.fixture
def make_run(tmp_path, monkeypatch, make_evaluation):
    """Records a run of an initial program and one better one, under a configuration of its own."""
    monkeypatch.chdir(tmp_path)

    def make(name, *, seed=0, score=21.0, version="v1", config="task: placement\n"):
        identity = {"task": "placement", "suite": "adrs", "seed": seed, "evaluator_version": version}
        with Archive.create(Path("runs") / name, config_text=config, identity=identity) as archive:
            for generation, value in enumerate((20.0, score)):
                evaluation = make_evaluation(score=value, version=version)
                made = {"parents": tuple(program.commit for program in archive.reader.programs)}
                if generation:
                    archive.asked(make_question(generation, archive.reader.programs, model="offline"), None)
                    archive.answered(generation, 0, _answer())
                    made["origin"] = Origin(kind=PatchKind.DIFF, model="offline", patch_name="a", description="")
                event = make_made(generation, evaluation, **made)
                archive.evaluated(event, files=one_file(f"a = {value}\n"), patch_text="", answers=None)
            archive.stopped("generations")

    return make


def _answer():
    from evolve.core.completion import Completion

    return Completion(text="an answer")


def _identified(event):
    if event["event"] == "created":
        event["run_id"] = "a" * 32


def test_two_configurations_side_by_side(make_run, evolve, evolve_json):
    for seed in range(5):
        make_run(f"few-{seed}", seed=seed, score=21.0 + seed / 10)
        make_run(f"many-{seed}", seed=seed, score=22.0 + seed / 10, config="task: placement\nsearch: {elites: 80}\n")
    names = [f"{kind}-{seed}" for kind in ("few", "many") for seed in range(5)]
    output = evolve("compare", *names)
    assert "search.elites" in output
    assert "21.000000 to 21.400000" in output
    assert "93.75 %" in output
    assert "at the end: B is better than A in 25 of 25 pairs; exact test p = 0.0079: settled." in output
    assert "-a = 21.4\n+a = 22.4\n" in output
    (judge,) = evolve_json("compare", *names)["judges"]
    assert judge["differences"] == [{"key": "search.elites", "values": {"A": 40, "B": 80}}]
    assert judge["groups"][0]["runs"][0]["run"] == "few-0"


def test_groups_whose_long_names_begin_alike_keep_their_values(make_run, evolve, evolve_json, on_terminal):
    long = "placement-adrs-gpt-5-mini-and-claude-sonnet-tuning-islands-4-elites-40-unguided-0."
    for share, score in ((1, 21.0), (5, 22.0)):
        for seed in range(5):
            config = f"task: placement\nsearch: {{unguided: 0.{share}}}\n"
            make_run(f"{long}{share}-s{seed}", seed=seed, score=score + seed / 10, config=config)
    names = [f"{long}{share}-s{seed}" for share in (1, 5) for seed in range(5)]
    (judge,) = evolve_json("compare", *names)["judges"]
    assert [group["median"] for group in judge["finals"]["groups"]] == [21.2, 22.2]
    assert list(judge["differences"][0]["values"].values()) == [0.1, 0.5]
    output = evolve("compare", *names)
    assert "unguided-0.5 is better than" in output
    assert "in 25 of 25 pairs" in output
    narrow = on_terminal("compare", *names, width=80)
    heads = narrow[narrow.index("key") : narrow.index("search.unguided")]
    assert "0.1" in heads and "0.5" in heads


def test_runs_of_one_name_in_two_folders_are_two_runs(make_run, evolve, evolve_json):
    make_run("a", score=21.0)
    make_run("c", score=22.0, config="task: placement\nsearch: {elites: 80}\n")
    for name, folder in (("a", "x1"), ("c", "x2")):
        shutil.copytree(f"runs/{name}", f"{folder}/a")
    (judge,) = evolve_json("compare", "x1/a", "x2/a")["judges"]
    assert [run["run"] for group in judge["groups"] for run in group["runs"]] == ["x1/a", "x2/a"]
    assert [group["values"] for group in judge["finals"]["groups"]] == [[21.0], [22.0]]
    for folder in ("x1/a", "runs/a"):
        rewrite(Path(folder, "journal.jsonl"), _identified)
    assert "x1/a and runs/a are the same run" in evolve("compare", "x1/a", "a", code=2)
    assert "a and a are the same run" in evolve("compare", "a", "./runs/../runs/a", code=2)


def test_one_proposal_is_counted_as_one(make_run, evolve, evolve_json):
    for name, elites in (("few", 40), ("many", 80)):
        make_run(name, config=f"task: placement\nsearch: {{elites: {elites}}}\n")
    output = evolve("compare", "few", "many")
    assert "1 proposal " in output
    assert "1 proposals" not in output
    (judge,) = evolve_json("compare", "few", "many")["judges"]
    assert judge["cuts"][0]["label"] == "1 proposal"
    assert judge["finals"]["label"] == "at the end"


def test_runs_that_were_scored_differently_are_compared_apart_and_end_with_1(make_run, evolve):
    make_run("old", version="v1", score=21.0)
    make_run("new", version="v2", score=23.0)
    output = evolve("compare", "old", "new", code=1)
    assert "scored differently (evaluator version)" in output
    assert "22.0" not in output
    assert "is better" not in output


def test_it_takes_two_runs_that_are_there(make_run, evolve):
    make_run("one")
    assert "name at least two" in evolve("compare", "one", code=2)
    assert "are the same run" in evolve("compare", "one", "one", code=2)
    assert "there is no run 'two'" in evolve("compare", "one", "two", code=2)


def test_a_run_whose_configuration_is_damaged_is_refused_in_one_sentence(make_run, evolve):
    make_run("one")
    make_run("odd", config="task: [\n")
    output = evolve("compare", "one", "odd", code=2)
    assert "run.yaml" in output
    assert len(output.strip().splitlines()) == 1


def test_hostile_texts_are_shown_and_not_obeyed(hostile, family, evolve):
    output = evolve("compare", "hostile", "family")
    assert "\x1b" not in output
    assert "\u202e" not in output
