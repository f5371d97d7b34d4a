"""Can't be late: what a tick costs, what the judge refuses, the clairvoyant optimum, and the data that ships."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cant_be_late_playing import TASK, Decide, answers_of, drawn, mean_cost, program
from hypothesis import given
from hypothesis import strategies as st
from slow_cant_be_late import slow_cost, slow_optimum

from evaluator.evaluation import Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap
from evaluator.task import Instance
from evaluator.tasks.cant_be_late import adapter, make_suites
from evaluator.tasks.cant_be_late.exact import best_answers, least_cost
from evaluator.tasks.cant_be_late.judge import converse, draw_instance
from evaluator.tasks.cant_be_late.recipes import RECIPES
from evaluator.tasks.suite_files import as_text
from tests.builders import one_file
from tests.evaluator.hostile import confinement

FOLDER = Path(make_suites.__file__).parent
ONLY = "on_demand"

# -- the rule ----------------------------------------------------------------------------------------------------------

#         tick  0123456789
SMALL: dict[str, Any] = {"work": 4, "deadline": 10, "overhead": 1, "spot": "1110011111"}
INSTANCE = Instance(index=0, data=SMALL)


@pytest.mark.parametrize(
    ("answers", "cost"),
    [
        ([ONLY] * 5, 15),  # a tick of start, four of work
        (["wait"] * 5 + ["spot"] * 5, 5),
        (["spot"] * 8, 3 + 3),  # two ticks of work, spot goes, two more ticks; `spot` while it is gone costs nothing
        (["spot"] * 3 + ["wait"] * 2 + ["spot"] * 3, 6),
        (["spot"] * 3 + [ONLY] * 3, 3 + 9),
        (["spot", ONLY, "spot", ONLY, "wait"] + ["spot"] * 5, 1 + 3 + 1 + 3 + 5),
        ([ONLY, ONLY, "wait", ONLY, ONLY, ONLY, ONLY], 18),  # work that is done stays done
    ],
)
def test_answers_cost_what_the_rule_says(answers: list[str], cost: int) -> None:
    assert TASK.judge.judge(INSTANCE, answers).cost == cost == slow_cost(SMALL, answers)


def test_what_is_asked_is_the_state_of_the_job_and_nothing_of_the_ticks_to_come() -> None:
    one, other = [converse({**SMALL, "spot": marks}) for marks in ("1101111111", "1100000000")]
    first = {"tick": 0, "deadline": 10, "work": 4, "overhead": 1, "work_left": 4, "spot": True}
    assert next(one) == next(other) == {**first, "running": None, "starting": 0}
    second = {**first, "tick": 1, "running": "spot", "starting": 0}
    assert one.send("spot") == other.send("spot") == second
    third = {**first, "tick": 2, "work_left": 3, "spot": False, "running": None, "starting": 0}
    assert one.send("spot") == other.send("spot") == third
    assert one.send("on_demand")["running"] == "on_demand"


# -- what the judge refuses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("ondemand", '"ondemand"'),
        ("SPOT", '"SPOT"'),
        ("", "another string"),
        ("spot ", "another string"),
        ("x" * 30, "another string"),
        ("\x1b[2J", "another string"),
        (None, "None"),
        (True, "True"),
        (0, "a number"),
        (1.0, "a number"),
        (["spot"] * 5, "a list"),  # all at once
        ({"machine": "spot"}, "an object"),
    ],
)
def test_an_action_that_does_not_exist_is_refused_with_the_reason(answer: Any, shown: str) -> None:
    verdict = TASK.judge.judge(INSTANCE, ["spot", answer, *["spot"] * 8])
    assert verdict.outcome is Outcome.INVALID_OUTPUT
    assert verdict.detail == f'the answer is {shown}; it must be "spot", "on_demand" or "wait"'


@pytest.mark.parametrize(
    ("answers", "left", "safe"),
    [(["wait"] * 10, 4, 5), (["wait"] * 6 + [ONLY] * 4, 1, 5), ([ONLY, "wait"] * 5, 4, 5)],
)
def test_a_missed_deadline_is_infeasible_and_says_when_it_was_too_late(
    answers: list[str], left: int, safe: int
) -> None:
    verdict = TASK.judge.judge(INSTANCE, answers)
    assert verdict.outcome is Outcome.INFEASIBLE
    assert f"{left} of 4 ticks of work are left at tick 10; tick {safe} was the last" in verdict.detail


@pytest.mark.parametrize("answers", [[], ["spot"], [ONLY] * 4, [ONLY] * 6, None, 3, {"0": "spot"}, "spot"])
def test_neither_fewer_answers_nor_more_are_taken(answers: Any) -> None:
    assert TASK.judge.judge(INSTANCE, answers).outcome is Outcome.INVALID_OUTPUT


WRONG: list[Any] = [None, True, 0, 1.0, "ondemand", "SPOT", "", [], ["spot"], {}]


def random_answers(rng: random.Random, data: dict[str, Any]) -> list[Any]:
    """Answers that keep a machine for a while, one time in three with something wrong."""
    answers: list[Any] = [rng.choice(["spot", "on_demand", "wait"])]
    stays = rng.choice([0.5, 0.9, 0.98])
    while len(answers) < data["deadline"]:
        answers.append(answers[-1] if rng.random() < stays else rng.choice(["spot", "on_demand", "wait"]))
    for end in range(1, len(answers) + 1):
        if type(slow_cost(data, answers[:end])) is int:
            answers = answers[:end]
            break
    if rng.random() < 1 / 3:
        at = rng.randrange(len(answers))
        change = rng.choice(["wrong", "shorter", "longer", "other"])
        if change == "shorter":
            return answers[:at]
        if change == "longer":
            return [*answers, rng.choice(["spot", "on_demand", "wait"])]
        answers[at] = rng.choice(WRONG) if change == "wrong" else rng.choice(["spot", "on_demand", "wait"])
    return answers


@pytest.mark.parametrize("answers", [500, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_an_independent_judge_agrees_on_random_answers(answers: int) -> None:
    rng = random.Random(35)
    outcomes: list[Outcome] = []
    for _ in range(answers):
        data = drawn(rng, 40)
        given_ = random_answers(rng, data)
        verdict = TASK.judge.judge(Instance(index=0, data=data), given_)
        assert (verdict.outcome if verdict.cost is None else verdict.cost) == slow_cost(data, given_), (data, given_)
        outcomes.append(verdict.outcome)
    for outcome in (Outcome.OK, Outcome.INFEASIBLE, Outcome.INVALID_OUTPUT):
        assert outcomes.count(outcome) > answers // 10


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text("spot"), st.lists, max_leaves=9))
def test_no_answer_breaks_the_judge(answer: object) -> None:
    assert TASK.judge.judge(INSTANCE, answer).outcome is Outcome.INVALID_OUTPUT
    assert TASK.judge.judge(INSTANCE, [answer]).outcome is Outcome.INVALID_OUTPUT


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("ondemand", "the answer is 'ondemand'"),
        (None, "is a return missing"),
        (True, "a bool"),
        (["spot"], "a list"),
        (b"spot", "a bytes"),
    ],
)
def test_the_adapter_says_what_it_cannot_read(result: object, message: str) -> None:
    _, encode = adapter.begin({"spot": True})({"spot": True})
    with pytest.raises(ValueError, match=message):
        encode(result)


def test_a_program_sees_the_past_and_cannot_change_it() -> None:
    pasts: list[list[bool]] = []

    def notes(now: dict[str, Any]) -> str:
        pasts.append(list(now["seen"]))
        now["seen"].append(None)
        now["work_left"] = 0
        return "wait" if now["tick"] < 5 else "spot"

    assert answers_of(notes, SMALL) == ["wait"] * 5 + ["spot"] * 5
    assert pasts == [[mark == "1" for mark in SMALL["spot"][: end + 1]] for end in range(10)]


# -- the clairvoyant optimum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("traces", "longest"), [(60, 6), pytest.param(400, 8, marks=pytest.mark.nightly)])
def test_the_optimum_is_that_of_trying_every_answer(traces: int, longest: int) -> None:
    rng = random.Random(7)
    possible = 0
    for _ in range(traces):
        data = drawn(rng, longest)
        least = slow_optimum(data)
        if least is None:
            with pytest.raises(ValueError, match="no answers meet the deadline"):
                least_cost(data)
            continue
        possible += 1
        assert least_cost(data) == least, data
        assert slow_cost(data, best_answers(data)) == least, data
    assert traces // 3 < possible < traces


def every_step(data: dict[str, Any]) -> int:
    """The least cost by all that can happen, tick by tick: what runs, the ticks of start left, the work left."""
    states = {(data["work"], "", 0): 0}
    best: list[int] = []
    for mark in data["spot"]:
        after: dict[tuple[int, str, int], int] = {}
        for (left, running, starting), cost in states.items():
            for machine, price in (("", 0), ("o", 3), *([("s", 1)] if mark == "1" else [])):
                rest = (starting if machine == running else data["overhead"]) if machine else 0
                state = (left - (machine != "" and not rest), machine, max(0, rest - 1))
                after[state] = min(cost + price, after.get(state, 10**9))
        best += [cost for (left, *_), cost in after.items() if not left]
        states = {state: cost for state, cost in after.items() if state[0]}
    return min(best)


@pytest.mark.parametrize(("suite", "index"), [("single", 1), ("single-holdout", 8), ("shifted", 2)])
def test_the_bound_that_ships_is_the_least_cost_of_all_that_can_happen(suite: str, index: int) -> None:
    instance = TASK.suite(suite).instances[index]
    assert instance.bound == every_step(instance.data)
    answers = best_answers(instance.data)
    assert TASK.judge.judge(instance, answers).cost == slow_cost(instance.data, answers) == instance.bound


@pytest.mark.nightly
@pytest.mark.parametrize("suite", sorted(make_suites.SEEDS))
def test_every_bound_that_ships_is_the_least_cost_of_all_that_can_happen(suite: str) -> None:
    for instance in TASK.suite(suite).instances:
        assert instance.bound == every_step(instance.data)


def test_no_program_that_ships_is_below_a_bound() -> None:
    for instance in TASK.suite("shifted").instances[:12]:
        for name in ("on_demand", "greedy", "uniform_progress", "kept_slack"):
            cost = TASK.judge.judge(instance, answers_of(program(f"baselines/{name}"), instance.data)).cost
            assert cost is not None and instance.bound is not None and cost >= instance.bound


# -- the baselines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "suite", "cost"),
    [
        ("on_demand", "single", 438.0),
        ("greedy", "single", 311.183),
        ("uniform_progress", "single", 332.8),
        ("kept_slack", "single", 295.017),
        ("on_demand", "shifted", 306.0),
    ],
)
def test_the_baselines_cost_what_they_say(name: str, suite: str, cost: float) -> None:
    assert round(mean_cost(program(f"baselines/{name}"), TASK.suite(suite)), 3) == cost


def test_the_best_listed_value_is_what_our_own_rule_costs() -> None:
    (known,) = TASK.suite("single").best_known
    assert "baselines/kept_slack.py" in known.where_from
    assert known.value == pytest.approx(mean_cost(program("baselines/kept_slack"), TASK.suite("single")), rel=1e-10)


def test_the_initial_program_is_greedy() -> None:
    data = TASK.suite().instances[3].data
    assert answers_of(program("initial"), data) == answers_of(program("baselines/greedy"), data)


@pytest.mark.parametrize("name", ["on_demand", "greedy", "uniform_progress", "kept_slack"])
@given(seed=st.integers(0, 10**6))
def test_a_baseline_is_never_late_where_on_demand_is_not(name: str, seed: int) -> None:
    data = drawn(random.Random(seed), 30)
    decide: Decide = program(f"baselines/{name}")
    in_time = data["work"] + data["overhead"] <= data["deadline"]
    outcome = TASK.judge.judge(Instance(index=0, data=data), answers_of(decide, data)).outcome
    assert outcome is Outcome.OK or not in_time


# -- in the sandbox ----------------------------------------------------------------------------------------------------

ENDS = "    return 'on_demand'\n"
HOSTILE = {
    "an action that does not exist": (
        "def decide(now):\n    return 'gpu'\n",
        "item 0: what it returned is no answer: ValueError: the answer is 'gpu'",
    ),
    "nothing": ("def decide(now):\n    pass\n", "is a return missing"),
    "all answers at once": ("def decide(now):\n    return ['on_demand'] * 180\n", "the answer is a list"),
    "late": ("def decide(now):\n    return 'wait'\n", "144 of 144 ticks of work are left at tick 180; tick 35 was the"),
    "a job that it calls done": (
        "import gc\n"
        "def decide(now):\n"
        "    for other in gc.get_objects():\n"
        "        if type(other) is dict and 'work_left' in other:\n"
        "            other['work_left'] = 0\n"
        "    return 'wait'\n",
        "144 of 144 ticks of work are left",
    ),
    "a word of its own": (
        "class Word(str):\n"
        "    def __eq__(self, other):\n        return True\n"
        "    def __hash__(self):\n        return hash('spot')\n"
        "    def __str__(self):\n        return 'spot'\n"
        "def decide(now):\n    return Word('free')\n",
        "the answer is 'free'",
    ),
    "reads the suite": (
        f"def decide(now):\n    open({str(FOLDER / 'suites' / 'single.json')!r}).read()\n{ENDS}",
        "item 0: PermissionError: [Errno 1] Operation not permitted",
    ),
    "reads the judge's memory": (
        f"import os\ndef decide(now):\n    open(f'/proc/{{os.getppid()}}/mem', 'rb').read(1)\n{ENDS}",
        "item 0: PermissionError: [Errno 1] Operation not permitted",
    ),
    "imports the judge": (
        f"def decide(now):\n    import evaluator.tasks.cant_be_late.judge\n{ENDS}",
        "item 0: ModuleNotFoundError: import evaluator is not available in the sandbox",
    ),
}
LOOKS_AHEAD = """
import gc
import sys

def trace(value):
    if type(value) is str:
        return len(value) > 99 and set(value) <= {"0", "1"}
    return type(value) in (list, tuple) and len(value) > 99 and all(type(x) is bool for x in value)

def decide(now):
    if now["tick"] < 3:
        frame, places = sys._getframe(), gc.get_objects()
        while frame:
            places += [dict(frame.f_locals), dict(frame.f_globals)]
            frame = frame.f_back
        for held in places:
            inside = held.values() if type(held) is dict else held if type(held) in (list, tuple) else ()
            for value in [held, *inside]:
                if trace(value):
                    raise ValueError("seen")
    return "on_demand"
"""


@pytest.fixture(scope="module", params=["standard", pytest.param("strong", marks=pytest.mark.slow)])
def evaluator(request: pytest.FixtureRequest) -> Iterator[SandboxedEvaluator]:
    if request.param == "strong" and bubblewrap.find() is None:
        pytest.skip("bubblewrap is not installed")
    suite = dataclasses.replace(TASK.suite(), instances=TASK.suite().instances[:1])
    with SandboxedEvaluator(TASK, suite, workers=1, confined=confinement(request.param)) as evaluator:
        yield evaluator


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_hostile_program_is_correct(evaluator: SandboxedEvaluator, name: str) -> None:
    source, reason = HOSTILE[name]
    evaluation = evaluator.evaluate(one_file(source))
    assert not evaluation.correct
    assert reason in (evaluation.results[0].detail or "")
    assert all(result.cost is None for result in evaluation.results)


@pytest.mark.parametrize("marks", ["", "0" * 180])
def test_the_ticks_to_come_are_nowhere_in_the_programs_process(evaluator: SandboxedEvaluator, marks: str) -> None:
    evaluation = evaluator.evaluate(one_file(f"HELD = {marks!r}\n{LOOKS_AHEAD}"))
    assert evaluation.correct is not bool(marks)
    assert ("seen" in (evaluation.results[0].detail or "")) is bool(marks)


def test_the_sandbox_costs_a_program_what_the_judge_costs_it() -> None:
    suite = TASK.suite()
    with SandboxedEvaluator(TASK, suite, workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file((TASK.initial).read_text(encoding="utf-8")))
    assert evaluation.correct
    assert evaluation.metrics["mean_cost"] == mean_cost(program("initial"), suite)


# -- the data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", sorted(make_suites.SEEDS))
def test_the_script_makes_exactly_the_suites_that_ship(suite: str) -> None:
    instances = make_suites.instances_of(suite)
    assert as_text(suite, "instances", instances) == (FOLDER / "suites" / f"{suite}.json").read_text(encoding="utf-8")
    assert {data["deadline"] for data in instances} == {deadline for _, deadline, _ in RECIPES[suite].jobs}


@pytest.mark.parametrize(
    "suite",
    [pytest.param(name, marks=[pytest.mark.slow] if at else []) for at, name in enumerate(make_suites.SEEDS)],
)
def test_the_script_proves_exactly_the_bounds_that_ship(suite: str) -> None:
    shipped = (FOLDER / "bounds" / f"{suite}.json").read_text(encoding="utf-8")
    assert make_suites.bounds_text(suite, make_suites.instances_of(suite)) == shipped


def test_the_suites_are_what_their_description_says() -> None:
    jobs: dict[str, list[tuple[int, int, int]]] = {}
    for name in TASK.suites:
        data = [instance.data for instance in TASK.suite(name).instances]
        assert len(data) == 60
        assert all(len(one["spot"]) == one["deadline"] and set(one["spot"]) <= {"0", "1"} for one in data)
        jobs[name] = sorted({(one["work"], one["deadline"], one["overhead"]) for one in data})
    assert jobs["single"] == jobs["single-holdout"] == [(144, 180, 1), (144, 180, 3), (144, 216, 1), (144, 216, 3)]
    assert jobs["shifted"] == jobs["shifted-holdout"] == [(100, 110, 1), (100, 110, 3)]


def test_the_first_sentence_says_what_the_bound_is() -> None:
    first, _, _ = " ".join(TASK.description.split()).partition(". ")
    assert first.endswith("the bound is the least cost with foresight")


def test_the_prompt_states_the_limits() -> None:
    suite = TASK.suite()
    limits, calls = suite.limits, sum(instance.data["deadline"] for instance in suite.instances)
    stated = f"Each trace has {limits.cpu_per_instance_s:g} s of CPU, and all 60 share {limits.cpu_total_s:g} s"
    assert f"{stated}: up to {calls:,} calls in `single`." in TASK.prompt_text


@pytest.mark.parametrize("suite", sorted(RECIPES))
def test_a_fresh_instance_is_valid_for_the_recipe(suite: str) -> None:
    first, again = [draw_instance(random.Random(5), suite) for _ in range(2)]
    assert first == again
    assert (first["work"], first["deadline"], first["overhead"]) in RECIPES[suite].jobs
    assert len(first["spot"]) == first["deadline"]
    assert least_cost(first) <= 3 * (first["work"] + first["overhead"])


def test_describe_says_what_a_job_is_like() -> None:
    assert TASK.judge.describe(INSTANCE) == "work 4, deadline 10, overhead 1, spot there in 80 % of the ticks"


def test_the_picture_shows_what_ran_when_and_the_cheapest_plan() -> None:
    instance = TASK.suite().instances[1]
    text = TASK.judge.draw(instance, answers_of(program("baselines/greedy"), instance.data))
    root = ElementTree.fromstring(text)
    assert f"cost 415; the cheapest plan, with the trace known in advance, costs {instance.bound}" in text
    bands = [element for element in root.findall(".//{*}rect") if element.get("height") == "26"]
    width = sum(float(band.get("width", "")) for band in bands if band.get("fill") == "#74c476")
    assert width == pytest.approx(760 * instance.data["spot"].count("1") / 180, abs=0.1)
    assert len(root.findall(".//{*}polyline")) == 2
