"""Claims about the file of an experiment: what it may say, what it unfolds to, what may be changed of it later."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evolve.apps.experiment.plan import MOST_ATTEMPTS, read_plan, settle
from evolve.core.errors import InputError

GOOD = {
    "base": {"task": "placement", "suite": "adrs", "search": {"inspirations": 1}},
    "configurations": {"few": {"search.elites": 3}, "many": {"search": {"elites": 30}}},
    "seeds": 3,
    "budget": {"attempts": 20},
}


def written(folder: Path, document: object, name: str = "sizes.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_every_configuration_is_run_with_every_seed_at_the_same_budget(tmp_path):
    runs = read_plan(written(tmp_path, GOOD)).runs()
    assert [(run.configuration, run.seed) for run in runs] == [
        (name, seed) for seed in (0, 1, 2) for name in ("few", "many")
    ]
    assert {run.config.generations for run in runs} == {20}
    assert {(run.configuration, run.config.search.elites, run.config.search.inspirations) for run in runs} == {
        ("few", 3, 1),
        ("many", 30, 1),
    }
    assert {(run.config.seed == run.seed, run.config.parallel, run.config.workers) for run in runs} == {(True, 1, 1)}
    assert len({run.folder for run in runs}) == len(runs)
    assert {run.folder.parent for run in runs} == {Path("runs/sizes")}


def test_a_budget_of_dollars_alone_does_not_end_by_a_default_number_of_proposals(tmp_path):
    base = {**GOOD["base"], "models": [{"model": "any", "price_in": 1.0, "price_out": 2.0}]}
    plan = read_plan(written(tmp_path, {**GOOD, "base": base, "budget": {"usd": 2}}))
    assert {(run.config.generations, run.config.budget_usd) for run in plan.runs()} == {(MOST_ATTEMPTS, 2.0)}


def test_seeds_may_be_named(tmp_path):
    assert read_plan(written(tmp_path, {**GOOD, "seeds": [7, 3]})).seeds == (7, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buget": {}}, "unknown key 'buget'"),
        ({"name": "../up"}, "must be a plain folder name"),
        ({"configurations": {}}, "configurations: must have at least 1 item"),
        ({"configurations": {"a/b": {}}}, "configurations.a/b: must be a plain folder name"),
        ({"configurations": {"a": [1]}}, "configurations.a: must be a mapping, not"),
        ({"configurations": {"a": {"suite": "tight"}}}, "configurations.a.suite: .* set it in `base`"),
        ({"configurations": {"a": {"seed": 1}}}, "set it by `seeds`"),
        ({"base": {"generations": 5}}, "base.generations: .*`budget.attempts`"),
        ({"base": {"minutes": 5}}, "minutes are no equal budget"),
        ({"budget": {}}, "budget: must hold"),
        ({"budget": {"attempts": None}}, "budget: must hold"),
        ({"budget": {"minutes": 3}}, "unknown key 'budget.minutes'"),
        ({"budget": {"attempts": True}}, "budget.attempts: must be a valid integer, not True"),
        ({"budget": {"usd": float("inf")}}, "budget.usd: must be a finite number, not inf"),
        ({"seeds": []}, "seeds: must be"),
        ({"seeds": [1, 1]}, "different whole numbers"),
        ({"seeds": 5000}, "seeds: must be"),
        ({"seeds": list(range(2000))}, "4000 runs; at most 2000"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(tmp_path, change, message):
    with pytest.raises(InputError, match=f"sizes.yaml( line \\d+)?: .*{message}"):
        read_plan(written(tmp_path, {**GOOD, **change}))


@pytest.mark.parametrize(
    ("configurations", "message"),
    [
        ({"a": {"search.elite": 3}}, "configurations.a: unknown key 'search.elite'"),
        ({"a": {"search.elites": 40}, "b": {}}, "configurations.b: is the same as a"),
    ],
)
def test_configurations_that_cannot_be_compared_are_refused_before_anything_runs(tmp_path, configurations, message):
    with pytest.raises(InputError, match=message):
        read_plan(written(tmp_path, {**GOOD, "configurations": configurations})).runs()


@pytest.mark.parametrize(
    "more",
    [
        {"seeds": 5},
        {"budget": {"attempts": 30}},
        {"configurations": {**GOOD["configurations"], "one": {"search.elites": 1}}},
    ],
)
def test_more_may_come_to_an_experiment_that_began_and_nothing_else_may_change(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    settle(read_plan(written(tmp_path, GOOD)))
    grown = read_plan(written(tmp_path, {**GOOD, **more}))
    settle(grown)
    settle(grown)
    with pytest.raises(InputError, match="not as in the plan of the runs in runs/sizes"):
        settle(read_plan(written(tmp_path, GOOD)))  # less than there is already


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"base": {"task": "placement", "suite": "tight"}}, "base"),
        ({"configurations": {"few": {"search.elites": 4}, "many": {"search.elites": 30}}}, "configurations.few"),
        ({"configurations": {"few": {"search.elites": 3}}}, "configurations.many"),
        ({"seeds": [0, 1, 4]}, "seeds"),
        ({"budget": {"attempts": 19}}, "budget.attempts"),
        ({"budget": {"attempts": 20, "usd": 1}}, "budget.usd"),
    ],
)
def test_what_the_runs_were_begun_with_stays(tmp_path, monkeypatch, change, key):
    monkeypatch.chdir(tmp_path)
    settle(read_plan(written(tmp_path, GOOD)))
    with pytest.raises(InputError, match=f"{key}: not as in the plan of the runs"):
        settle(read_plan(written(tmp_path, {**GOOD, **change})))


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "sizes").mkdir(parents=True)
    (tmp_path / "runs" / "sizes" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no experiment"):
        settle(read_plan(written(tmp_path, GOOD)))


@given(
    document=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "base", "configurations", "seeds", "budget", "attempts", "usd", "search", "a"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_any_file_is_a_plan_or_one_clear_mistake(tmp_path_factory, document):
    path = written(tmp_path_factory.mktemp("plan"), document)
    try:
        plan = read_plan(path)
        runs = plan.runs()
    except InputError as mistake:
        assert "\n" not in str(mistake)
    else:
        assert len(runs) == len(plan.configurations) * len(plan.seeds)
