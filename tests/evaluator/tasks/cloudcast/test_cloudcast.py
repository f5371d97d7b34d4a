"""Cloudcast: the published figures, every hole of other judges shut, bounds proven, and an independent slow judge."""

import dataclasses
import functools
import itertools
import json
import random
import runpy
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome, Verdict
from evaluator.evaluator import SandboxedEvaluator
from evaluator.places import PROGRAMS
from evaluator.sandbox import bubblewrap
from evaluator.task import Instance
from evaluator.task_files import load_task
from evaluator.tasks.cloudcast import adapter, exact, make_suites, recipes
from evaluator.tasks.cloudcast.network import network, provider
from evaluator.tasks.cloudcast.rule import bill
from evaluator.tasks.cloudcast.steiner import cheapest_arborescence, dual_ascent
from evaluator.tasks.suite_files import as_text
from tests.builders import one_file
from tests.evaluator.hostile import confinement
from tests.evaluator.tasks.cloudcast.slow_cloudcast import slow_usd

TASK = load_task("cloudcast")
PUBLISHED = TASK.suite("published").instances
SUITES = ["published", "published-holdout", "wide", "wide-holdout"]
REGIONS = list(network().regions)
FOLDER = Path(make_suites.__file__).resolve().parent
INITIAL = PROGRAMS / "cloudcast" / "initial.py"
BASELINES = PROGRAMS / "cloudcast" / "baselines"
SMALL = {
    "source": "aws:us-east-1",
    "destinations": ["gcp:us-east1-b", "azure:eastus"],
    "parts": 2,
    "gb": 10,
    "ingress": {"aws": 10, "gcp": 16, "azure": 16},
    "egress": {"aws": 5, "gcp": 7, "azure": 16},
    "vms": 2,
    "deadline_s": None,
}
EGRESS = [57, 99, 141, Fraction("160.5"), Fraction("160.5")]
A, G, Z = SMALL["source"], "gcp:us-east1-b", "azure:eastus"
GOOD = {G: [[A, G], [A, G]], Z: [[A, G, Z], [A, Z]]}


def judged(answer: object, instance: Instance | None = None) -> Verdict:
    return TASK.judge.judge(Instance(index=0, data=SMALL) if instance is None else instance, answer)


def answered(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """What our own program answers, without a sandbox."""
    answer: dict[str, Any] = json.loads(_answer(path, json.dumps(data)))
    return answer


@functools.cache
def _answer(path: Path, text: str) -> str:
    data = json.loads(text)
    arguments, encode = adapter.prepare(data)
    return json.dumps(encode(runpy.run_path(str(path))["routes"](*arguments)))


def costs(path: Path, suite: str = "published") -> list[Fraction]:
    verdicts = [judged(answered(path, instance.fresh()), instance) for instance in TASK.suite(suite).instances]
    assert all(verdict.cost is not None for verdict in verdicts), verdicts
    return [verdict.cost for verdict in verdicts if verdict.cost is not None]


def egress_of_tree(instance: Instance, program: Callable[[Any, int, list[int]], int]) -> Fraction:
    """The US$ of egress of the cheapest tree, as a program for trees finds or bounds it."""
    ends = (instance.data["source"], *instance.data["destinations"])
    source, *terminals = (network().regions[region] for region in ends)
    return Fraction(program(network().whole_prices(), source, terminals) * instance.data["gb"], 10_000)


# -- the published figures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [INITIAL, BASELINES / "cheapest_paths.py"])
def test_the_cheapest_paths_cost_what_was_measured(path: Path) -> None:
    parts = costs(path)
    assert [f"{float(usd):.4f}" for usd in parts] == ["165.0240", "144.9450", "161.4686", "268.8514", "305.5714"]
    assert sum(parts) == Fraction("1045.860405")


def test_one_cheapest_tree_for_all_parts_costs_what_was_measured() -> None:
    parts = costs(BASELINES / "steiner_tree.py")
    assert [f"{float(usd):.4f}" for usd in parts] == ["59.5200", "99.7875", "143.0571", "161.9400", "161.9400"]
    assert f"{float(sum(parts)):.3f}" == "626.245"


def test_no_routes_have_less_egress_than_the_cheapest_tree() -> None:
    assert [egress_of_tree(instance, cheapest_arborescence) for instance in PUBLISHED] == EGRESS
    for instance, least in zip(PUBLISHED, EGRESS, strict=True):
        data = instance.fresh()
        assert bill(data, answered(BASELINES / "steiner_tree.py", data)).egress == least


def test_the_metric_is_the_sum_and_nothing_without_all_configurations() -> None:
    verdicts = [Verdict(outcome=Outcome.OK, cost=Fraction(cents, 100)) for cents in range(5)]
    assert TASK.judge.summarise(verdicts, PUBLISHED).metrics["usd"] == pytest.approx(0.1)
    failed = Verdict(outcome=Outcome.INFEASIBLE, detail="late")
    summary = TASK.judge.summarise([*verdicts[:4], failed], PUBLISHED)
    assert summary.score == pytest.approx(0.8)
    assert "usd" not in summary.metrics


# -- the rule, and a judge of its own ----------------------------------------------------------------------------------


def test_a_part_on_a_link_is_paid_once_and_the_slowest_link_counts() -> None:
    once = bill(SMALL, {G: [[A, G], [A, G]], Z: [[A, G, Z], [A, G, Z]]})
    assert once.loads == {(A, G): 2, (G, Z): 2}
    prices = network().prices
    assert once.egress == 10 * (prices[A, G] + prices[G, Z])
    assert once.regions == (A, G, Z)
    assert once.instances == 3 * 2 * Fraction("0.54") / 3600 * once.seconds
    shared = bill(SMALL, {G: [[A, G], [A, G]], Z: [[A, Z], [A, Z]]})
    assert shared.seconds == max(16, *(round(80 / (2 * network().speeds[link]), 2) for link in shared.loads))


def random_answer(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Routes with paths of 1 to 5 links, some of them broken in one way."""
    near = rng.sample(REGIONS, 6)

    def path(destination: str) -> list[Any]:
        relays = [region for region in near if region not in (data["source"], destination)]
        return [data["source"], *rng.sample(relays, rng.randint(0, 3)), destination]

    answer: dict[str, Any] = {}
    for destination in rng.sample(data["destinations"], len(data["destinations"])):
        known = [path(destination) for _ in range(rng.randint(1, 3))]
        answer[destination] = [list(rng.choice(known)) for _ in range(data["parts"])]
    if rng.random() < 0.3:
        broken = rng.choice(answer[rng.choice(data["destinations"])])
        rng.choice(
            [
                broken.reverse,
                lambda: broken.append(broken[0]),
                lambda: broken.insert(1, broken[0]),
                broken.pop,
                lambda: broken.insert(1, "aws:nowhere"),
                broken.clear,
                lambda: broken.__setitem__(0, rng.choice([1, None, True, 0.02, [A]])),
                answer.popitem,
                lambda: answer.update({rng.choice(REGIONS): []}),
                answer[data["destinations"][0]].pop,
            ]
        )()
    return answer


def drawn(rng: random.Random) -> dict[str, Any]:
    """A configuration with few parts or destinations, so that links are often shared."""
    data = recipes.draw_instance(rng, rng.choice(["published", "wide"]))
    kept = rng.randint(1, 6)
    deadline = rng.choice([None, None, rng.randint(1, 20) * data["gb"] // 2])
    return {**data, "destinations": data["destinations"][:kept], "parts": rng.randint(1, 6), "deadline_s": deadline}


@pytest.mark.parametrize("answers", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_an_independent_slow_judge_agrees_on_random_routes(answers: int) -> None:
    rng = random.Random(35)
    valid, data = 0, drawn(rng)
    for number in range(answers):
        data = drawn(rng) if number % 10 == 0 else data
        answer = random_answer(data, rng)
        cost = judged(answer, Instance(index=0, data=data)).cost
        assert cost == slow_usd(data, answer), (data, answer)
        valid += cost is not None
    assert answers // 3 < valid < answers * 9 // 10


@pytest.mark.parametrize("suite", ["published", pytest.param("wide", marks=pytest.mark.slow)])
def test_an_independent_slow_judge_agrees_on_programs(suite: str) -> None:
    for instance in TASK.suite(suite).instances:
        data = instance.fresh()
        answer = answered(INITIAL, data)
        assert judged(answer, instance).cost == slow_usd(data, answer)


# -- what is refused ---------------------------------------------------------------------------------------------------


REFUSED: list[tuple[object, str]] = [
    (None, "the answer is None, not {destination"),
    (618.0, "the answer is 618.0, not"),
    ([[A, G]], "the answer is a list, not"),
    ({}, "there are no paths to gcp:us-east1-b"),
    ({G: GOOD[G]}, "there are no paths to azure:eastus"),
    ({**GOOD, A: [[A]]}, "there are paths to 'aws:us-east-1', which is no destination"),
    ({**GOOD, "usd": 0}, "there are paths to 'usd', which is no destination"),
    ({**GOOD, Z: 1}, "the paths to azure:eastus are 1, not a list"),
    ({**GOOD, Z: []}, "there are 0 paths to azure:eastus; each of 2 parts needs one"),
    ({**GOOD, Z: [[A, Z]]}, "there are 1 paths to azure:eastus"),
    ({**GOOD, Z: [[A, Z]] * 3}, "there are 3 paths to azure:eastus"),
    ({**GOOD, Z: [[A, Z], None]}, "the path of part 1 to azure:eastus is None, not a list of regions"),
    ({**GOOD, Z: [[A, Z], {"path": [A, Z], "usd": 0}]}, "part 1 to azure:eastus is an object"),
    ({**GOOD, Z: [[A, Z], []]}, "part 1 to azure:eastus begins at no region, not at the source aws:us-east-1"),
    ({**GOOD, Z: [[A, Z], [G, Z]]}, "part 1 to azure:eastus begins at gcp:us-east1-b, not at the source"),
    ({**GOOD, Z: [[A, Z], [Z]]}, "part 1 to azure:eastus begins at azure:eastus"),
    ({**GOOD, Z: [[A, Z], [A, G]]}, "part 1 to azure:eastus ends at gcp:us-east1-b"),
    ({**GOOD, Z: [[A, Z], [A]]}, "part 1 to azure:eastus ends at aws:us-east-1"),
    ({**GOOD, Z: [[A, Z], [A, "aws:moon-1", Z]]}, "holds 'aws:moon-1', and there is no such region"),
    ({**GOOD, Z: [[A, Z], [A, 0, Z]]}, "holds 0; a region is a name"),
    ({**GOOD, Z: [[A, Z], [A, [G, 0.0, 99], Z]]}, "holds a list; a region is a name"),
    ({**GOOD, Z: [[A, Z], [A, A, Z]]}, "uses a link from aws:us-east-1 to aws:us-east-1, and there is none"),
]


@pytest.mark.parametrize(("answer", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_is_no_routes_is_refused_with_a_sentence(answer: object, reason: str) -> None:
    verdict = judged(answer)
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert reason in verdict.detail
    assert slow_usd(SMALL, answer) is None


@pytest.mark.parametrize("path", [[A, G, A, Z], [A, Z, G, Z], [A, G, "aws:us-west-2", G, Z]])
def test_cycles_are_refused(path: list[str]) -> None:
    verdict = judged({**GOOD, Z: [[A, Z], path]})
    assert verdict.outcome is Outcome.INFEASIBLE
    assert "has a cycle: it visits" in verdict.detail


def test_routes_on_the_deadline_are_in_time_and_one_second_less_is_not() -> None:
    seconds = int(bill(SMALL, GOOD).seconds)
    for deadline, verdict in ((seconds, judged(GOOD)), (seconds + 1, judged(GOOD))):
        assert judged(GOOD, Instance(index=0, data={**SMALL, "deadline_s": deadline})) == verdict
    late = judged(GOOD, Instance(index=0, data={**SMALL, "deadline_s": seconds - 1}))
    assert late.outcome is Outcome.INFEASIBLE
    assert late.detail == f"the routes take {seconds}.00 s, and the deadline is {seconds - 1} s"


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.sampled_from([A, G, Z]), st.lists, max_leaves=9))
def test_no_answer_breaks_the_judge(answer: object) -> None:
    for whole in (answer, {G: answer, Z: answer}, {**GOOD, Z: [[A, Z], answer]}):
        verdict = judged(whole)
        assert (verdict.outcome is Outcome.OK) == (verdict.cost is not None)
        assert verdict.cost == slow_usd(SMALL, whole)


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", ["published", *(pytest.param(suite, marks=pytest.mark.slow) for suite in SUITES[1:])])
def test_the_bounds_shipped_are_those_that_the_code_proves(suite: str) -> None:
    text = (FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8")
    assert make_suites.bounds_text(suite, [instance.data for instance in TASK.suite(suite).instances]) == text


def test_the_bounds_are_marked_as_not_tight() -> None:
    assert sum(instance.bound or 0 for instance in PUBLISHED) == Fraction("620.101512")
    for suite in SUITES:
        assert not any(instance.proven for instance in TASK.suite(suite).instances)
        assert "lower bounds, not tight" in (FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8")


def test_the_bound_within_gcp_is_reached() -> None:
    stops = ["us-east1-b", "us-west4-a", "southamerica-east1-a", "europe-west1-b", "europe-north1-a", "asia-east1-a"]
    line = [f"gcp:{region}" for region in (*stops, "asia-southeast2-a", "australia-southeast1-a")]
    data = PUBLISHED[2].data
    routes = {region: [line[: line.index(region) + 1]] * data["parts"] for region in data["destinations"]}
    assert judged(routes, PUBLISHED[2]).cost == PUBLISHED[2].bound == slow_usd(data, routes)


def test_a_bound_is_proven_again_and_one_that_is_too_high_is_refuted() -> None:
    (check,) = TASK.verify("published", [0])
    assert check.holds
    raised = dataclasses.replace(PUBLISHED[0], bound=Fraction("57.51"))
    refuted = exact.verify(raised, limit_s=1)
    assert refuted.holds is False
    assert "the cheapest tree costs US$ 57.504000" in refuted.detail


def slow_arborescence(costs: list[list[int]], source: int, terminals: list[int]) -> int:
    """The cheapest choice of one link into each region of every set of regions that holds the terminals."""
    others = [region for region in range(len(costs)) if region not in (source, *terminals)]
    best: int | None = None
    for count in range(len(others) + 1):
        for relays in itertools.combinations(others, count):
            inside = [*terminals, *relays]
            for parents in itertools.product([source, *inside], repeat=len(inside)):
                above = dict(zip(inside, parents, strict=True))
                if all(_reaches(above, region, source) for region in inside):
                    cost = sum(costs[parent][region] for region, parent in above.items())
                    best = cost if best is None else min(best, cost)
    assert best is not None
    return best


def _reaches(above: dict[int, int], region: int, source: int) -> bool:
    for _ in above:
        if region != source:
            region = above[region]
    return region == source


def test_both_programs_for_trees_agree_with_all_trees_tried() -> None:
    rng = random.Random(5)
    tight = 0
    for _ in range(60):
        size = rng.randint(3, 5)
        weights = [[0 if a == b else rng.choice([1, 2, 3, 5, 9, 20]) for b in range(size)] for a in range(size)]
        terminals = list(range(1, rng.randint(2, size - 1) + 1)) if size > 3 else [1, 2]
        least = slow_arborescence(weights, 0, terminals)
        assert cheapest_arborescence(weights, 0, terminals) == least
        assert dual_ascent(weights, 0, terminals) <= least
        tight += dual_ascent(weights, 0, terminals) == least
    assert tight > 40


def test_cuts_prove_nearly_as_much_as_the_exact_program_on_the_published_network() -> None:
    for instance, usd in zip(PUBLISHED, EGRESS, strict=True):
        assert 0.99 * usd < egress_of_tree(instance, dual_ascent) <= usd


@given(st.randoms(use_true_random=False))
def test_no_random_routes_are_below_the_bound(rng: random.Random) -> None:
    instance = rng.choice(PUBLISHED)
    answer = random_answer(instance.data, rng)
    cost = judged(answer, instance).cost
    if cost is not None:
        assert bill(instance.data, answer).seconds >= exact.least_seconds(instance.data)
        assert instance.bound is not None
        assert cost >= instance.bound


# -- suites, names, picture --------------------------------------------------------------------------------------------


def test_the_suites_are_what_the_recipe_makes() -> None:
    for suite in make_suites.SUITES:
        text = (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
        made = make_suites.make(suite)
        assert as_text(suite, "instances", made, source="evaluator/tasks/cloudcast/make_suites.py") == text


@pytest.mark.parametrize("suite", ["wide", "wide-holdout"])
def test_wide_suites_are_as_described_and_their_deadlines_can_be_met(suite: str) -> None:
    instances = [instance.data for instance in TASK.suite(suite).instances]
    assert len(instances) == 20
    assert sum(data["deadline_s"] is not None for data in instances) == 10
    assert {len(data["destinations"]) for data in instances} <= set(range(10, 26))
    assert {data["parts"] for data in instances} <= set(range(4, 21))
    assert len({data["gb"] for data in instances}) > 3
    assert len(costs(INITIAL, suite)) == 20


def test_a_cheap_tree_misses_every_deadline() -> None:
    for instance in TASK.suite("wide").instances[1::2]:
        data = instance.fresh()
        prices = {link: float(usd) for link, usd in network().prices.items()}
        assert recipes.seconds_of_tree(data, prices) > data["deadline_s"]


def test_the_prompt_says_what_is_known_of_both_suites() -> None:
    for text in ("US$ 1045.86", "US$ 626.24, of which US$ 618.00 are egress", "less than US$ 620.10 (proven)"):
        assert text in TASK.prompt_text
    wide = TASK.suite("wide").instances
    assert f"less than US$ {float(sum(instance.bound or 0 for instance in wide)):.2f} (proven)" in TASK.prompt_text
    for key, text in (("gb", "50 to 1200 GB"), ("parts", "4 to 20 parts"), ("destinations", "10 to 25 destinations")):
        values = [len(data[key]) if key == "destinations" else data[key] for data in (each.data for each in wide)]
        low, _, high, *_ = text.split()
        assert int(low) <= min(values) and max(values) <= int(high) and text in TASK.prompt_text


def test_other_names_are_of_the_same_clouds_in_the_same_order_and_change_nothing() -> None:
    assert TASK.judge.renamed is not None
    assert TASK.judge.permuted is not None
    for seed, path in enumerate([INITIAL, BASELINES / "steiner_tree.py"]):
        rng = random.Random(seed)
        data = PUBLISHED[3].fresh()
        other = TASK.judge.renamed(data, rng)
        shown = list(other["names"].values())
        assert len(set(shown)) == 71
        assert list(other["names"]) == REGIONS
        assert shown == sorted(shown)
        assert shown != REGIONS
        assert [provider(name) for name in shown] == [provider(region) for region in REGIONS]
        assert adapter.prepare(other)[0][0] == other["names"][data["source"]]
        assert answered(path, other) == answered(path, data)
    moved = TASK.judge.permuted(data, random.Random(1))
    assert sorted(moved["destinations"]) == sorted(data["destinations"]) != moved["destinations"]


@pytest.mark.parametrize(("suite", "index"), [("published", 4), ("wide", 1)])
def test_the_picture_shows_every_region_and_link(suite: str, index: int) -> None:
    instance = TASK.suite(suite).instances[index]
    answer = answered(INITIAL, instance.fresh())
    billed = bill(instance.data, answer)
    text = TASK.judge.draw(instance, answer)
    root = ElementTree.fromstring(text)
    titles = {element.text for element in root.iter() if element.tag.endswith("title")}
    assert {title for title in titles if title and ":" not in title.partition(":")[2]} == set(billed.regions)
    assert sum(f"{a} to {b}: {float(network().prices[a, b]):g}" in titles for a, b in billed.loads) == len(billed.loads)
    paths = [element for element in root.iter() if element.tag.endswith("path")]
    assert len(paths) == 4 + len(billed.loads)  # the legend has four
    assert f"US$ {float(billed.usd):.4f}" in text
    left, _, right, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        if element.tag.endswith("text"):
            assert left <= float(element.attrib["x"]) < right
            assert 0 < float(element.attrib["y"]) < height


# -- programs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "is a return missing"),
        ([[A, G]], "routes returned a list"),
        ({G: "paths"}, "the paths to gcp:us-east1-b: there is a str where a list is expected"),
        ({G: 1}, "the paths to gcp:us-east1-b: there is a int"),
        ({G: [1]}, "part 0 of gcp:us-east1-b: there is a int where a list is expected"),
        ({G: [[A, 1]]}, "part 0 of gcp:us-east1-b: a region is a int, not its name"),
        ({G: [[A, "aws:moon-1", G]]}, "part 0 of gcp:us-east1-b: there is no region 'aws:moon-1'"),
        ({"aws:moon-1": []}, "a destination: there is no region 'aws:moon-1'"),
        ({G: itertools.repeat([A, G])}, "the paths to gcp:us-east1-b: the list is longer than 2"),
        ({G: [itertools.repeat(A)]}, "part 0 of gcp:us-east1-b: the list is longer than 200"),
        ({region: [] for region in REGIONS}, "there are paths for more than the 2 destinations"),
    ],
)
def test_the_adapter_says_what_it_cannot_read(result: object, why: str) -> None:
    _, encode = adapter.prepare(SMALL)
    with pytest.raises(ValueError, match=why):
        encode(result)


@pytest.fixture(scope="module", params=["strong", "standard"])
def evaluator(request: pytest.FixtureRequest) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    with SandboxedEvaluator(TASK, TASK.suite(), workers=1, confined=confinement(request.param)) as evaluator:
        assert evaluator.sandbox == request.param
        yield evaluator


HEAD = "def routes(source, destinations, parts, links, job):\n    "
DIRECT = "{d: [[source, d]] * parts for d in destinations}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"return {{**{DIRECT}, 'usd': 0.14}}", "there are paths for more than the 6 destinations"),
        ("return 0.14", "routes returned a float"),
        ("return {d: [[source, d, 0.0, 99.0]] * parts for d in destinations}", "a region is a float, not its name"),
        ("return {d: [[d]] * parts for d in destinations}", "begins at aws:me-south-1, not at the source"),
        ("return {d: [[source]] * parts for d in destinations}", "ends at aws:ap-northeast-1"),
        ("return {d: [[source, d, source, d]] * parts for d in destinations}", "has a cycle"),
        ("return {d: [[source, d]] for d in destinations}", "there are 1 paths to aws:me-south-1; each of 10"),
        ("return {d: [[source, 'aws:free-1', d]] * parts for d in destinations}", "no region 'aws:free-1'"),
        ("return {d: [[source, source, d]] * parts for d in destinations}", "and there is none"),
        ("return {}", "there are no paths to aws:me-south-1"),
    ],
)
def test_a_program_that_cheats_fails_with_the_reason(evaluator: SandboxedEvaluator, body: str, reason: str) -> None:
    evaluation = evaluator.evaluate(one_file(HEAD + body + "\n"))
    assert not evaluation.correct
    assert reason in evaluation.results[0].detail


def test_prices_and_limits_that_a_program_changes_are_its_own(evaluator: SandboxedEvaluator) -> None:
    source = f"""
import sys


def routes(source, destinations, parts, links, job):
    for link in links:
        links[link] = (0.0, 1e9)
    job["vms"], job["gb"] = 0, 0
    for module in list(sys.modules.values()):
        if hasattr(module, "TABLE"):
            module.TABLE = ""
            module.table = lambda: ([], {{}})
    return {DIRECT}
"""
    plain = evaluator.evaluate(one_file(f"{HEAD}return {DIRECT}\n"))
    evaluation = evaluator.evaluate(one_file(source))
    assert plain.results[0].cost == evaluation.results[0].cost is not None
    assert not evaluation.correct or evaluation.metrics == plain.metrics
