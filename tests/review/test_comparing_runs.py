"""Runs side by side: groups, differences, and what equal budgets gave."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.objective import SCORE_ITSELF, Direction, Objective
from evaluator.untrusted import one_line
from evolve.core.errors import InputError
from evolve.review.comparison import (
    ComparedRun,
    alike,
    bands,
    comparison_json,
    cuts,
    differences,
    finals,
    grouped,
    remarks,
    why_not_comparable,
)
from evolve.review.curves import CurvePoint
from tests.builders import one_file

JUDGE = {"task": "placement", "suite": "adrs", "evaluator_version": "v1", "task_digest": "d"}
MAKESPAN = Objective(metric="makespan", direction=Direction.MINIMISE, unit="s")


def run(name, values, *, seed=0, judge=None, objective=SCORE_ITSELF, priced=True, source="x = 1\n", **settings):
    """A run whose best value after each attempt (0: the initial program) is one of `values`, each of 2 dollars."""
    points = [
        CurvePoint(generation=n, attempts=n, usd=2.0 * n, tokens=100 * n, seconds=60.0 * n, value=value)
        for n, value in enumerate(values)
    ]
    return ComparedRun(
        name=name,
        run_id=f"id of {name}",
        judge=tuple({**JUDGE, **(judge or {})}.items()),
        settings={"parallel": 1, **settings},
        seed=seed,
        objective=objective,
        points=points,
        value=values[-1],
        bound=None,
        generation=len(values) - 1,
        held_out=None,
        overfitted=None,
        self_judged=False,
        priced=priced,
        files=one_file(source),
    )


def seeds(label, finals_, **settings):
    return [run(f"{label}{n}", [0.0, 0.0, value, value, value], seed=n, **settings) for n, value in enumerate(finals_)]


def test_runs_of_one_configuration_are_one_group_whatever_their_seeds():
    (together,) = grouped([run("a", [1.0], seed=0), run("b", [2.0], seed=1), run("c", [2.0], parallel=2)])
    assert [(group.label, [one.name for one in group.runs]) for group in together.groups] == [
        ("A", ["a", "b"]), ("B", ["c"])
    ]  # fmt: skip


def test_only_what_differs_is_shown():
    (together,) = grouped([run("a", [1.0], elites=3, kind="x"), run("b", [1.0], elites=4, kind="x", models="m")])
    assert differences(together.groups) == [
        {"key": "elites", "values": {"A": 3, "B": 4}},
        {"key": "models", "values": {"A": None, "B": "m"}},
    ]


@pytest.mark.parametrize("key", ["suite", "evaluator_version", "task", "task_digest"])
def test_runs_that_were_not_scored_alike_are_never_put_together(key):
    judged = grouped([*seeds("a", range(1, 6)), *seeds("b", range(100, 105), judge={key: "other"})])
    assert key.replace("_", " ") in why_not_comparable(judged)
    assert [len(together.runs) for together in judged] == [5, 5]
    shown = comparison_json(judged)
    assert [one["finals"]["groups"][0]["median"] for one in shown["judges"]] == [3.0, 102.0]
    assert all(not one["finals"]["pairs"] for one in shown["judges"])
    assert [group["label"] for one in shown["judges"] for group in one["groups"]] == ["A", "B"]


def test_values_of_two_metrics_are_never_put_together_by_any_judge():
    cost = replace(MAKESPAN, direction=Direction.MAXIMISE)
    runs = [run("a", [1.0], objective=MAKESPAN), run("b", [9.0], objective=cost), run("c", [2.0], objective=MAKESPAN)]
    judged = grouped([replace(run("z", [None]), points=[], value=None), *runs])
    assert [[one.name for one in together.runs] for together in judged] == [["z", "a", "c"], ["b"]]
    assert "(direction)" in why_not_comparable(judged)
    assert [together.objective for together in judged] == [MAKESPAN, cost]  # "z" has no program, and so no metric
    assert "(metric, direction)" in why_not_comparable(grouped([run("a", [1.0]), run("b", [9.0], objective=MAKESPAN)]))


def test_with_five_seeds_there_is_an_interval_with_its_exact_level_and_a_test():
    (together,) = grouped([*seeds("a", [1.0, 2.0, 3.0, 4.0, 5.0]), *seeds("b", [6.0, 7.0, 8.0, 9.0, 10.0], elites=9)])
    found = finals(together)
    assert found["groups"][0]["interval"] == {"low": 1.0, "high": 5.0, "level": 0.9375, "exact": "15/16"}
    (pair,) = found["pairs"]
    assert (pair["test"]["method"], pair["test"]["exact"]) == ("exact", "1/126")
    assert pair["sentence"] == "B is better than A in 25 of 25 pairs; exact test p = 0.0079: settled."


def test_a_test_that_is_approximate_is_called_so():
    (together,) = grouped([*seeds("a", range(60)), *seeds("b", range(10, 70), elites=9)])
    (pair,) = finals(together)["pairs"]
    assert (pair["test"]["method"], pair["test"]["exact"]) == ("approximate", None)
    assert "; approximate test p = " in pair["sentence"]


def test_with_fewer_there_are_only_the_values():
    (together,) = grouped([*seeds("a", [1.0, 2.0, 3.0]), *seeds("b", [6.0, 7.0, 8.0, 9.0, 10.0], elites=9)])
    found = finals(together)
    assert found["groups"][0] == {
        "label": "A", "values": [1.0, 2.0, 3.0], "median": 2.0, "interval": None, "best": 3.0
    }  # fmt: skip
    assert found["pairs"][0]["test"] is None
    assert found["pairs"][0]["sentence"] == (
        "B is better than A in 15 of 15 pairs; not settled: a significance test needs 5 runs per group (A: 3, B: 5)."
    )
    assert {band["label"] for band in bands(together)} == {"B"}


def test_less_is_better_where_the_task_minimises():
    runs = [*seeds("a", [5.0, 5.0, 4.0, 5.0, 5.0], objective=MAKESPAN)]
    runs += seeds("b", [4.0, 5.0, 6.0, 6.0, 6.0], objective=MAKESPAN, elites=9)
    (together,) = grouped(runs)
    (pair,) = finals(together)["pairs"]
    assert (pair["test"]["better"], pair["test"]["equal"], pair["test"]["worse"]) == (4, 5, 16)
    assert pair["sentence"].startswith("A is better than B in 16 of 25 pairs, equal in 5; exact test p = ")
    assert [group["best"] for group in finals(together)["groups"]] == [4.0, 4.0]


def test_equal_budgets_are_what_every_run_got_to():
    short, long = run("a", [1.0, 2.0, 3.0]), run("b", [1.0, 1.0, 1.0, 9.0, 9.0], elites=9)
    (together,) = grouped([short, long])
    found = {(cut["axis"], cut["budget"]): [group["best"] for group in cut["groups"]] for cut in cuts(together)}
    assert found[("attempts", 2.0)] == [3.0, 1.0]  # not the 9 that came later
    assert found[("attempts", 1.0)] == [2.0, 1.0]
    assert found[("usd", 1.0)] == [1.0, 1.0]
    assert found[("seconds", 120.0)] == [3.0, 1.0]


def test_each_test_says_at_which_budget_it_is():
    runs = [run(f"a{n}", [0.0, 5.0, 5.0, 5.0, 5.0], seed=n) for n in range(5)]
    runs += [run(f"b{n}", [0.0, 1.0, 1.0, 1.0, 4.0, 4.0, 9.0], seed=n, elites=9) for n in range(5)]
    (judge,) = comparison_json(grouped(runs))["judges"]
    settled = "in 25 of 25 pairs; exact test p = 0.0079: settled."
    largest = ["4 proposals", "8.0000 USD", "400 tokens", "4:00 of work"]
    assert judge["sentences"] == [
        *(f"{budget}: A is better than B {settled}" for budget in largest), f"at the end: B is better than A {settled}"
    ]  # fmt: skip
    smaller = ["1 proposal", "2 proposals", "2.0000 USD", "4.0000 USD", "100 tokens", "200 tokens"]
    smaller += ["1:00 of work", "2:00 of work"]
    assert judge["smaller_sentences"] == [f"{budget}: A is better than B {settled}" for budget in smaller]
    assert [cut["label"] for cut in judge["cuts"]][:3] == ["1 proposal", "2 proposals", "4 proposals"]


def test_a_run_at_its_ceiling_shortens_no_budget_and_its_value_is_carried_on():
    solved = replace(run("solved", [0.0, 9.0], elites=3), solved=True)
    (together,) = grouped([solved, run("slow", [0.0, 1.0, 2.0, 3.0, 4.0])])
    shown = {
        cut["budget"]: [group["values"] for group in cut["groups"]]
        for cut in cuts(together)
        if cut["axis"] == "attempts"
    }
    assert shown == {1.0: [[9.0], [1.0]], 2.0: [[9.0], [2.0]], 4.0: [[9.0], [4.0]]}
    both = grouped([solved, replace(run("too", [0.0, 0.0, 9.0]), solved=True)])[0]
    assert max(cut["budget"] for cut in cuts(both) if cut["axis"] == "attempts") == 2.0


def test_runs_that_an_experiment_named_keep_its_names():
    (together,) = grouped(
        [run(f"{name}-s{seed}", [1.0], seed=seed, way=name) for seed in (3, 4) for name in ("few", "b-s3")]
    )
    assert [group.label for group in together.groups] == ["few", "b-s3"]
    (together,) = grouped([run("few-s3", [1.0], seed=3, way=1), run("other", [1.0], seed=4)])
    assert [group.label for group in together.groups] == ["A", "B"]


STEMS = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "placement-adrs-gpt-5-mini-and-claude-sonnet-tuning-islands-4-larger-"]),
        st.one_of(st.text("\x1b\\x1b \u202eA2()", min_size=1, max_size=6), st.text(max_size=80)),
        st.sampled_from(["", "-" * 100]),
    ),
    min_size=2,
    max_size=5,
    unique=True,
)


@given(STEMS)
def test_whatever_groups_are_called_each_keeps_its_own_name_and_values(stems):
    named = [run(f"{stem}-s0", [float(n)], way=n) for n, stem in enumerate(stems)]
    (together,) = grouped(named)
    labels = [group.label for group in together.groups]
    assert len(set(labels)) == len(stems)
    assert all(label.strip() and label == one_line(label, 50) for label in labels)
    assert [group["values"] for group in finals(together)["groups"]] == [[float(n)] for n in range(len(stems))]
    (differing,) = differences(together.groups)
    assert differing["values"] == dict(zip(labels, range(len(stems)), strict=True))


def test_of_a_long_name_head_and_tail_are_shown():
    long = "placement-adrs-gpt-5-mini-and-claude-sonnet-tuning-islands-4-elites-40-larger-0."
    (together,) = grouped([run(f"{long}{n}-s0", [1.0], way=n) for n in (1, 5)])
    assert [group.label for group in together.groups] == [
        "placement-adrs-gpt-…elites-40-larger-0.1",
        "placement-adrs-gpt-…elites-40-larger-0.5",
    ]


def test_no_dollars_are_compared_where_a_price_is_not_known():
    (together,) = grouped([run("a", [1.0, 2.0]), run("b", [1.0, 2.0], priced=False)])
    assert {cut["axis"] for cut in cuts(together)} == {"attempts", "tokens", "seconds"}


def test_a_run_without_a_correct_program_is_shown_and_not_left_out_of_the_median():
    (together,) = grouped([*seeds("a", [1.0, 2.0, 3.0, 4.0, 5.0]), run("z", [None, None], seed=9)])
    assert remarks(together) == ["1 of 6 runs of A have no correct program."]
    assert finals(together)["groups"][0]["median"] is None


def test_a_run_that_another_evaluator_scored_at_first_is_shown():
    (together,) = grouped([run("a", [1.0], seed=0), replace(run("b", [1.0], seed=1), rescored=True)])
    (shown,) = remarks(together)
    assert shown.startswith("1 of 2 runs of A had another evaluator at first: ")


def test_one_result_that_is_counted_twice_is_shown_and_what_runs_differ_in():
    (together,) = grouped([run("a", [1.0]), run("b", [1.0])])
    sentence = "A counts a result several times: seed 0 ended with equal bests."
    assert remarks(together) == [sentence]
    assert alike(together, [together]) == "One configuration and one seed: these runs have the same settings."
    (together,) = grouped([run("a", [1.0]), run("b", [2.0])])
    assert remarks(together) == [], "where chance is in it, each run is a result"
    (together,) = grouped([run("a", [1.0], seed=0), run("b", [1.0], seed=1)])
    assert remarks(together) == []
    assert alike(together, [together]) == "One configuration: these runs differ only in their seeds."


def test_one_run_does_not_count_twice():
    with pytest.raises(InputError, match="are the same run"):
        grouped([run("a", [1.0]), run("a", [1.0])])
    with pytest.raises(InputError, match="name at least two"):
        grouped([run("a", [1.0])])


def test_the_final_programs_are_why_not_comparable_line_by_line():
    (together,) = grouped([run("a", [1.0]), run("b", [2.0], elites=9, source="x = 2\n")])
    (diff,) = comparison_json([together])["judges"][0]["diffs"]
    assert "-x = 1\n+x = 2\n" in diff["diff"]
    assert diff["names"] == ["A: a, generation 0 (1.000000)", "B: b, generation 0 (2.000000)"]


def test_a_run_that_no_other_was_scored_like_says_what_the_others_have_another_of():
    judged = grouped([run("a", [1.0]), run("b", [2.0], judge={"suite": "another"})])
    assert [one["alike"] for one in comparison_json(judged)["judges"]] == [
        "Not compared: the other runs have another suite."
    ] * 2
